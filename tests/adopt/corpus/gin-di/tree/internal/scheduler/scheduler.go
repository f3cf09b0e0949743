package scheduler

import "github.com/robfig/cron/v3"

type Scheduler struct{ c *cron.Cron }

func New() *Scheduler {
	return &Scheduler{c: cron.New()}
}

func (s *Scheduler) Start() {
	s.c.AddFunc("@every 6h", s.refresh)
	s.c.Start()
}

func (s *Scheduler) refresh() {}
