set :output, "log/cron.log"

every 1.day, at: "6:00 am" do
  runner "Digest.deliver"
end

every :monday, at: "3am" do
  rake "reports:weekly"
end
