from .factory import create_app
