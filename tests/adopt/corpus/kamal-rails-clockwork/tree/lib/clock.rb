require "clockwork"
require_relative "../config/environment"

module Clockwork
  every(1.day, "forum.digest", at: "06:30") { DigestJob.perform_later }
end
