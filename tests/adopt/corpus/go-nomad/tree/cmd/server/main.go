package main

import (
	"log"
	"net/http"

	"github.com/acme/ledger/internal/jobs"
)

func main() {
	stop := jobs.Start()
	defer stop()
	log.Fatal(http.ListenAndServe(":8080", nil))
}
