from redis import Redis
from rq import Worker

from q.planner import plan
from q.tasks import resize

if __name__ == "__main__":
    print(len(plan()))
    Worker(["default"], connection=Redis()).work()
