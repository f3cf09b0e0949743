package web

import "context"

func Serve(ctx context.Context) { <-ctx.Done() }
