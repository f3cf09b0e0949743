package main

import (
	"context"
	"net/http"
	"time"
)

const day = 24 * time.Hour

func main() {
	go nightly()
	go flush()
	ctx, cancel := context.WithTimeout(context.Background(), day)
	defer cancel()
	serve(ctx)
	http.ListenAndServe(":8080", nil)
}

func nightly() {
	for range time.Tick(day) {
		sendDigest()
	}
}

func flush() {
	ticker := time.NewTicker(10 * time.Second)
	for range ticker.C {
		write()
	}
}
