from cleaner.runner import run_daily
from cleaner.work import clean

run_daily(clean)
