print("cleanup")
