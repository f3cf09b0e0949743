package main

import (
	"github.com/go-co-op/gocron/v2"
	redislock "github.com/go-co-op/gocron-redis-lock/v2"
)

func main() {
	locker, _ := redislock.NewRedisLocker(client)
	s, _ := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	s.NewJob(gocron.CronJob("0 6 * * *", false), gocron.NewTask(digest), gocron.WithSingletonMode(gocron.LimitModeReschedule))
	s.Start()
}
