import Config

config :shop, Oban,
  repo: Shop.Repo,
  plugins: [
    {Oban.Plugins.Cron, crontab: [{"0 6 * * *", Shop.Digest}]}
  ]
