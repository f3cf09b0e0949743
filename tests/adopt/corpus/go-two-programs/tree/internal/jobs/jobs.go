package jobs

import "github.com/robfig/cron/v3"

func Start() {
	c := cron.New(cron.WithChain(cron.SkipIfStillRunning(cron.DefaultLogger)))
	c.AddFunc("0 6 * * *", digest)
	c.Run()
}

func digest() {
	println("digest")
}
