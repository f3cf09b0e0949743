defmodule Shop.Application do
  use Application

  def start(_type, _args) do
    Supervisor.start_link([Shop.Scheduler], strategy: :one_for_one)
  end
end
