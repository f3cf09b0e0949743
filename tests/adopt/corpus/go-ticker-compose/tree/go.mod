module github.com/acme/report

go 1.22
