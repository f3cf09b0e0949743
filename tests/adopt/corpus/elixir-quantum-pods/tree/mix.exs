defmodule Shop.MixProject do
  use Mix.Project

  def project, do: [app: :shop, version: "1.0.0", deps: [{:quantum, "~> 3.5"}]]
  def application, do: [mod: {Shop.Application, []}]
end
