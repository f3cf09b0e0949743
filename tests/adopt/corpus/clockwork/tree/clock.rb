require "clockwork"
require_relative "config/environment"

module Clockwork
  every(1.day, "digest", at: "06:00") { DigestJob.perform_later }
end
