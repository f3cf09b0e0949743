use tokio_cron_scheduler::{Job, JobScheduler};

pub async fn start() -> anyhow::Result<JobScheduler> {
    let sched = JobScheduler::new().await?;
    sched
        .add(Job::new_async("0 0 7 * * *", |_id, _l| Box::pin(async { send().await }))?)
        .await?;
    sched.start().await?;
    Ok(sched)
}
