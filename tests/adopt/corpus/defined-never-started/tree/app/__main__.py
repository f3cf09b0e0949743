from app.jobs import nightly

if __name__ == "__main__":
    nightly()
