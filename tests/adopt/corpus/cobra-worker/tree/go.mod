module github.com/acme/pay

go 1.23
