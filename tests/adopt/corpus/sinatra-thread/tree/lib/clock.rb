require "rufus-scheduler"

module Clock
  def self.start
    scheduler = Rufus::Scheduler.new
    scheduler.every("12h", overlap: false) { Sync.call }
  end
end
