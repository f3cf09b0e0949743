import threading

from flask import Flask

from cache import refresh_loop

app = Flask(__name__)
threading.Thread(target=refresh_loop, daemon=True).start()
