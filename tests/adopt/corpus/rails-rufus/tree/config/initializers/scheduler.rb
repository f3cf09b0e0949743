require "rufus-scheduler"

return if defined?(Rails::Console) || Rails.env.test?

scheduler = Rufus::Scheduler.singleton

scheduler.cron "0 6 * * *", overlap: false do
  Digest.deliver
end
