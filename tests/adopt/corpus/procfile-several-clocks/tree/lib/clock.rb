require 'clockwork'

module Clockwork
  every(1.day, 'digest', at: '06:00', skip_first_run: true) { Digest.send }
end
