set :environment, ENV["RAILS_ENV"]
every 1.day, at: '4:30 am' do
  rake "invoices:send"
end
