module github.com/acme/op

go 1.22
