require "rufus-scheduler"

task clock: :environment do
  scheduler = Rufus::Scheduler.new
  scheduler.every("6h", overlap: false) { Sync.run }
  scheduler.join
end
