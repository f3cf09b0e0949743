require "json"
require_relative "lib/report"

loop do
  Report.new.deliver
  sleep 6 * 60 * 60
end
