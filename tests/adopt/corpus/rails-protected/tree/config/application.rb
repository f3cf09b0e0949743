module Shop
  class Application < Rails::Application
    config.good_job.cron = {
      invoices: { cron: "0 0 1 * *", class: "InvoiceJob" },
    }
  end
end
