CREATE UNIQUE INDEX cron_history_once ON cron_history (job, scheduled_for);
