import schedule


def send():
    print("digest")


if __name__ == "__main__":
    schedule.every().day.at("06:00").do(send)
