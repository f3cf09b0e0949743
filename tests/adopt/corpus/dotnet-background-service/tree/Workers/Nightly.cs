using Microsoft.Extensions.Hosting;

public class Nightly : BackgroundService
{
    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (!stoppingToken.IsCancellationRequested)
        {
            await SendDigest();
            await Task.Delay(TimeSpan.FromHours(24), stoppingToken);
        }
    }
}
