set :output, { error: 'log/error.log', standard: 'log/cron.log' }
every 1.day, at: '05:00 am' do
  rake "daily:information"
  rake "products:expiration"
end
every :thursday, at: '3:00am' do
  rake "data:extract[full,2]"
end
every :weekday, :at => '6:15 pm', :roles => [:app] do
  command "/usr/local/bin/close-day --all"
end
