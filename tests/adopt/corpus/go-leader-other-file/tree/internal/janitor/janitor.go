package janitor

import (
	"context"
	"time"
)

const interval = 24 * time.Hour

func Run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			sweep(ctx)
		}
	}
}

func sweep(context.Context) {}
