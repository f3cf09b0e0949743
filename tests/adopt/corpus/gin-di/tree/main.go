package main

import "github.com/acme/gin/internal/server"

func main() {
	server.New().Start()
}
