package main

import "net/http"

func main() { http.ListenAndServe(":80", nil) }
