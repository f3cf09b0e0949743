from fastapi import FastAPI

from app.jobs import nightly

app = FastAPI()


@app.post("/admin/nightly")
def run():
    nightly()
