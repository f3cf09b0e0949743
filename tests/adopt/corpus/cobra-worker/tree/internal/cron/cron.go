package cron

import (
	"context"
	"time"

	"github.com/go-co-op/gocron"
)

func Run(ctx context.Context) {
	s := gocron.NewScheduler(time.UTC)
	s.Every(1).Day().At("02:30").Do(settle)
	s.StartAsync()
	<-ctx.Done()
}

func settle() {}
