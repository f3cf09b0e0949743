module github.com/acme/two

go 1.22
