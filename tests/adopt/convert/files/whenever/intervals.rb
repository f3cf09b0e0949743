env :PATH, '/usr/local/bin:/usr/bin:/bin'
env 'MAILTO', 'ops@example.com'
every 10.minutes do
  runner 'Enrollment.expire_pending'
end
every(6.hours) { rake 'sync:all' }
every 3.months do
  runner "Report.quarter(true)"
end
