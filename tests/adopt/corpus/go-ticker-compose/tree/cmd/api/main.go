package main

import (
	"context"

	"github.com/acme/report/internal/report"
	"github.com/acme/report/internal/web"
)

func main() {
	ctx := context.Background()
	s := report.NewScheduler()
	go s.Start(ctx)
	web.Serve(ctx)
}
