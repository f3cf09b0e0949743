from http.server import HTTPServer, BaseHTTPRequestHandler


def make_server(container):
    return HTTPServer(("", 8080), BaseHTTPRequestHandler)
