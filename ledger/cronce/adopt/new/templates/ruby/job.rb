# The job: it prints its digest for the period that it is given. It never asks the clock what it is for.

puts "digest for #{ENV.fetch("CRONCE_PERIOD")}"
