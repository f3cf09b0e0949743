module github.com/acme/gin

go 1.23
