from warehouse.container import Container
from warehouse.http import make_server


def main():
    container = Container()
    container.clock.begin()
    make_server(container).serve_forever()


if __name__ == "__main__":
    main()
