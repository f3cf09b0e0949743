require "rufus-scheduler"

if Sidekiq.server?
  Rufus::Scheduler.singleton.cron("0 4 * * *", overlap: false) do
    CleanupJob.perform_async
  end
end
