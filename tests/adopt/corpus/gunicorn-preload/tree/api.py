import jobs

app = object()
