namespace Service;

public class RetentionWorker : BackgroundService
{
    private readonly ILogger<RetentionWorker> _logger;
    public RetentionWorker(ILogger<RetentionWorker> logger) { _logger = logger; }

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (!stoppingToken.IsCancellationRequested)
        {
            _logger.LogInformation("purging");
            await Task.Delay(TimeSpan.FromDays(1), stoppingToken);
        }
    }
}
