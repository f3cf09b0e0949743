package main

import "github.com/robfig/cron/v3"

func main() {
	c := cron.New(cron.WithChain(cron.SkipIfStillRunning(cron.DefaultLogger)))
	c.AddFunc("@daily", func() {})
	c.Run()
}
