mod scheduler;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let _sched = scheduler::start().await?;
    axum::serve(listener().await?, router()).await?;
    Ok(())
}
