package jobs

import "github.com/robfig/cron/v3"

func Start() func() {
	c := cron.New(cron.WithSeconds())
	if _, err := c.AddFunc("0 0 2 * * *", reconcile); err != nil {
		panic(err)
	}
	c.Start()
	return func() { c.Stop() }
}

func reconcile() {}
