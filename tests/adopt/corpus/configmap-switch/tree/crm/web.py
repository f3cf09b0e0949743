from flask import Flask
from crm import scheduling

app = Flask(__name__)
scheduling.maybe_start()
