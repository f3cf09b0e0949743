package server

import "github.com/acme/gin/internal/scheduler"

type Server struct{ sched *scheduler.Scheduler }

func New() *Server { return &Server{sched: scheduler.New()} }

func (s *Server) Start() {
	s.sched.Start()
	select {}
}
