using Microsoft.Extensions.Hosting;

namespace Acme.Jobs;

public sealed class NightlyExport(IExporter exporter) : BackgroundService
{
    private static readonly TimeSpan Interval = TimeSpan.FromHours(24);

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        using var timer = new PeriodicTimer(Interval);
        while (await timer.WaitForNextTickAsync(stoppingToken))
        {
            await exporter.ExportAsync(stoppingToken);
        }
    }
}
