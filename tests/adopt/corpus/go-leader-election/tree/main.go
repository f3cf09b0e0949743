package main

import (
	"context"

	"github.com/robfig/cron/v3"
	"k8s.io/client-go/tools/leaderelection"
)

func main() {
	leaderelection.RunOrDie(context.Background(), leaderelection.LeaderElectionConfig{
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				c := cron.New(cron.WithChain(cron.SkipIfStillRunning(cron.DefaultLogger)))
				c.AddFunc("0 6 * * *", digest)
				c.Run()
			},
		},
	})
}

func digest() {}
