from flask import Flask

from util.periodic import run_periodically

app = Flask(__name__)


def flush():
    ...


run_periodically(5, flush)
