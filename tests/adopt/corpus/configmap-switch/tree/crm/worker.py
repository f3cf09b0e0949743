import time
from crm import scheduling

scheduling.maybe_start()
while True:
    time.sleep(5)
