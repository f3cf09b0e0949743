from fastapi import FastAPI
from app.clock import start_if_leader

app = FastAPI()


@app.on_event("startup")
def startup():
    start_if_leader()
