class CleanupJob
  include Sidekiq::Job
end
