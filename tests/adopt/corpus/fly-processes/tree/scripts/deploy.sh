#!/bin/sh
fly deploy
fly scale count web=4 clock=2
