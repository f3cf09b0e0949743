import shop.clock

app = object()
