print("no clock")
