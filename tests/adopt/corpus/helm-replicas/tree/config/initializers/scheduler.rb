require "rufus-scheduler"

Rufus::Scheduler.singleton.cron "0 6 * * *", overlap: false do
  puts "digest"
end
