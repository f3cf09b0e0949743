package cron

func New() *Cron { return nil }
