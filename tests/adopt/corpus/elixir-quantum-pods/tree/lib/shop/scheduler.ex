defmodule Shop.Scheduler do
  use Quantum, otp_app: :shop
end
