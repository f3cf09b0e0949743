require "active_support/all"
set :path, "/srv/app/current"

every :sunday,
      at: "12:00 am" do
  runner "Billing::Invoices.new.run(\"all\")", output: "log/invoices.log"
end
every :month do
  rake "archive:month"
end
