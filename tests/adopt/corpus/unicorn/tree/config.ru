require "./app"
Thread.new { loop { Feed.refresh; sleep 3600 } }
run App
