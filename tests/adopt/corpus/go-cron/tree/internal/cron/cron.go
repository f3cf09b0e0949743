// Package cron reads expressions. It runs nothing.
package cron

func New(text string) Expression { return Expression{text} }

type Expression struct{ text string }
