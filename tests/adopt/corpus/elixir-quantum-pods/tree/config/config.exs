import Config

config :shop, Shop.Scheduler,
  overlap: false,
  jobs: [
    {"0 6 * * *", {Shop.Digest, :send, []}}
  ]
