"""How fast the loser of `cronce exec` is out on each store, and what a driver of PostgreSQL or Redis would add.

    python -m benchmarks.stores [ROUNDS]

DynamoDB Local, PostgreSQL and Valkey run on this machine and are reached in plain text. The row exists before the first
round, so each process is a loser. The drivers' programs connect and insert a row that exists, and do nothing else. The
contenders alternate within every round. A time is the median; a ratio is the median of the ratios within a round to
`cronce exec` on DynamoDB.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from cronce import Ledger
from tests.support.dynamodb_local import DynamoDbLocal
from tests.support.postgres_server import PASSWORD, PostgresServer
from tests.support.redis_server import SAFE, RedisServer, valkey_program

SCRIPTS = Path(sys.executable).parent
DRIVERS = ("psycopg2-binary==2.9.13", "psycopg[binary]==3.3.9", "pg8000==1.31.6", "redis==8.1.0", "valkey==6.2.0")
ENVIRONMENT = Path(__file__).parents[1] / ".cache" / "bench-drivers"
REFERENCE = "cronce exec, DynamoDB"

INSERT = "INSERT INTO plain VALUES ('1') ON CONFLICT DO NOTHING"
BY_PSYCOPG2 = """
import sys, psycopg2
c = psycopg2.connect(host="127.0.0.1", port=int(sys.argv[1]), user=sys.argv[2], password=sys.argv[3], dbname="runs")
c.autocommit = True
c.cursor().execute(sys.argv[4])
"""
BY_PSYCOPG = BY_PSYCOPG2.replace("psycopg2", "psycopg")
BY_PG8000 = """
import sys, pg8000.native
port, user, password, insert = sys.argv[1:]
c = pg8000.native.Connection(user, host="127.0.0.1", port=int(port), password=password, database="runs")
c.run(insert)
"""

BY_REDIS = """
import sys, redis
assert not redis.Redis.from_url(sys.argv[1]).set("plain", "1", nx=True)
"""
BY_VALKEY = BY_REDIS.replace("redis", "valkey").replace("Redis", "Valkey")


def main(rounds: int) -> None:
    """Measure and print a table."""
    python = _environment()
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as data,
        DynamoDbLocal() as dynamodb,
        PostgresServer() as postgres,
        RedisServer(valkey_program(), Path(data), *SAFE) as valkey,
    ):
        valkey.ask("ACL", "SETUSER", "app", "on", f">{PASSWORD}", "~*", "+@all")
        valkey.ask("SET", "plain", "1")
        app = valkey.url.replace("//", f"//app:{quote(PASSWORD, safe='')}@")
        postgres.sql("CREATE TABLE plain (id text PRIMARY KEY)", user="cronce")
        postgres.sql("GRANT INSERT, SELECT, UPDATE, DELETE ON plain TO scram")
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_REGION": "eu-west-1",
        }
        os.environ.update(environ)
        urls = {
            REFERENCE: f"dynamodb://runs?endpoint={dynamodb.endpoint}",
            "cronce exec, PostgreSQL, SCRAM": postgres.url(user=f"scram:{quote(PASSWORD, safe='')}"),
            "cronce exec, PostgreSQL, trust": postgres.url(),
            "cronce exec, Valkey, password": app,
            "cronce exec, Valkey": valkey.url,
            "cronce exec, SQLite": f"sqlite:///{folder}/runs.db",
        }
        for url in reversed(urls.values()):
            ledger = Ledger.from_url(url)
            ledger.create()
            if "postgresql" in url:
                postgres.sql("GRANT INSERT, SELECT, UPDATE, DELETE ON cronce_ledger TO scram")
            if claim := ledger.claim("job", "1"):
                claim.complete()
            ledger.close()
        options = ["--job", "job", "--period", "1"]
        lines = {
            name: [str(SCRIPTS / "cronce"), "exec", "--ledger", url, *options, "--", "false"]
            for name, url in urls.items()
        }
        login = [str(postgres.port), "scram", PASSWORD, INSERT]
        lines |= {
            "psycopg2 alone, SCRAM": [python, "-c", BY_PSYCOPG2, *login],
            "psycopg 3 alone, SCRAM": [python, "-c", BY_PSYCOPG, *login],
            "pg8000 alone, SCRAM": [python, "-c", BY_PG8000, *login],
            "redis-py alone, password": [python, "-c", BY_REDIS, app],
            "valkey-py alone, password": [python, "-c", BY_VALKEY, app],
            "import redis": [python, "-c", "import redis"],
            "import psycopg2": [python, "-c", "import psycopg2"],
            "import psycopg": [python, "-c", "import psycopg"],
            "bare interpreter": [python, "-c", "pass"],
        }
        wall: dict[str, list[float]] = {name: [] for name in lines}
        cpu: dict[str, list[float]] = {name: [] for name in lines}
        for number in range(rounds + 1):
            for name, line in lines.items():
                began = time.perf_counter()
                process = subprocess.Popen(line, env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                assert process.returncode == 0, line
                if number:  # the first round fills the page cache
                    wall[name].append(time.perf_counter() - began)
                    cpu[name].append(usage.ru_utime + usage.ru_stime)
    print(f"load average {os.getloadavg()[0]:.1f}, {rounds} rounds")
    print("| | median ms | to DynamoDB | CPU ms | to DynamoDB |\n|---|---:|---:|---:|---:|")
    for name in lines:
        cells = (f"{statistics.median(series[name]) * 1000:.0f} | {_ratio(series, name)}" for series in (wall, cpu))
        print(f"| {name} | {' | '.join(cells)} |")


def _ratio(series: dict[str, list[float]], name: str) -> str:
    pairs = zip(series[name], series[REFERENCE], strict=True)
    return f"{statistics.median(mine / reference for mine, reference in pairs):.2f}x"


def _environment() -> str:
    """The interpreter of an environment with the drivers."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *DRIVERS], check=True)
    return str(python)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 25)
