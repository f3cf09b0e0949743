"""The same story on cronce and on what people use instead, counted from a log outside of all of them.

    python -m benchmarks.compare [STORY ...]     # `make compare`: all stories, less than 15 minutes
    python -m benchmarks.compare --record        # and replaces them in recorded.json and docs/comparison.md

- `__main__`: makes the environment of `requirements.txt`, runs the stories, writes the report
- `peers`: the contenders, with their settings and why
- `programs/`: a contender's program each, and the work (`story`)
- `servers`: PostgreSQL and Valkey, and how many statements they got
- `play`: one story: start, disturb, stop
- `count`: the lines of the log -> ticks done once, twice, never
- `page`: recorded.json -> docs/comparison.md
"""
