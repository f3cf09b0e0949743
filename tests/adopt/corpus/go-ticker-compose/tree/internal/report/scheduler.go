package report

import (
	"context"
	"time"
)

type Scheduler struct{ every time.Duration }

func NewScheduler() *Scheduler { return &Scheduler{every: 24 * time.Hour} }

func (s *Scheduler) Start(ctx context.Context) {
	t := time.NewTicker(s.every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			send(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func send(context.Context) {}
