# Use this file to easily define all of your cron jobs.
set :output, "log/cron.log"
set :environment, 'production'

every 1.day, at: '4:30 am' do
  runner "BlacklistedToken.cleanup_expired"
end

every :hour do # all day
  rake "weather:refresh"
end
