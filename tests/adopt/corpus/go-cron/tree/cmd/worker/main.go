package main

import (
	"log"

	"github.com/robfig/cron/v3"
)

func main() {
	c := cron.New(cron.WithChain(cron.SkipIfStillRunning(cron.DefaultLogger)))
	if _, err := c.AddFunc("0 6 * * *", digest); err != nil {
		log.Fatal(err)
	}
	c.Run()
}

func digest() {}
