from jobs import send

app = object()
