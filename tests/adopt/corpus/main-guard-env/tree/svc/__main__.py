import argparse


def run_api(args):
    from svc.api import serve
    serve()


def run_scheduler(args):
    from svc.sched import forever
    forever()


def main():
    parser = argparse.ArgumentParser()
    sub = parser.add_subparsers(required=True)
    sub.add_parser("api").set_defaults(func=run_api)
    sub.add_parser("scheduler").set_defaults(func=run_scheduler)
    args = parser.parse_args()
    args.func(args)


main()
