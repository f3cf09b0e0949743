package main

import (
	"context"
	"time"

	"github.com/acme/op/internal/janitor"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	ctx := context.Background()
	lock := &resourcelock.LeaseLock{}
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: 15 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { janitor.Run(ctx) },
			OnStoppedLeading: func() { panic("lost") },
		},
	})
}
