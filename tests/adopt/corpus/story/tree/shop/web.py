from flask import Flask

from shop import clock

app = Flask(__name__)
clock.start()


@app.get("/")
def index():
    return "shop"
