# The digest in Ruby: cronce exec -- ruby digest.rb
# It prints its mails, and after each batch it stores how far it got, over the socket of `cronce exec`.
require "json"
require "socket"

def checkpoint(value)
  UNIXSocket.open(ENV.fetch("CRONCE_CHECKPOINT_SOCKET").sub("@") { "\0" }) do |socket|
    data = JSON.generate(value)
    socket.write("#{data.bytesize}\n#{data}")
    answer = socket.read
    raise "the checkpoint was not stored: #{answer}" unless answer == "ok"
  end
end

customers = ENV.fetch("DIGEST_CUSTOMERS", "3100").to_i
pause = ENV.fetch("DIGEST_PAUSE", "0").to_f
(ENV.fetch("CRONCE_RESUME_FROM", "0").to_i...customers).each_slice(100) do |batch|
  batch.each { |customer| puts "Good morning, customer #{customer}! This is your digest of #{ENV["CRONCE_PERIOD"]}." }
  $stdout.flush
  sleep pause
  checkpoint(batch.last + 1)
end
