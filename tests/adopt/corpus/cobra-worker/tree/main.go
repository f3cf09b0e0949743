package main

import "github.com/acme/pay/cmd"

func main() { cmd.Execute() }
