import jobs  # noqa: F401
from lib import periodic
from server import serve

if __name__ == "__main__":
    periodic.start()
    serve()
