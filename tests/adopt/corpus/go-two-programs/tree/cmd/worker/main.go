package main

import "example.com/shop/internal/jobs"

func main() {
	jobs.Start()
}
