import schedule
from flask import Flask

app = Flask(__name__)
plan = schedule.every(5)
