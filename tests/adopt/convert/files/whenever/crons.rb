every '0 0 27 * *' do
  command "echo 'you can use raw cron syntax too'"
end
every '*/20 8-18 * * 1-5' do
  script "import.rb --fast"
end
