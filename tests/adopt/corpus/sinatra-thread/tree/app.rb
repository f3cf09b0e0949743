require "sinatra/base"
require_relative "lib/clock"

class App < Sinatra::Base
  configure { Clock.start }
  get("/") { "ok" }
end
