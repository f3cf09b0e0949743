namespace Worker;

public class PriceRefresher : IHostedService, IDisposable
{
    private readonly IPrices _prices;
    private Timer? _timer;

    public PriceRefresher(IPrices prices) => _prices = prices;

    public Task StartAsync(CancellationToken cancellationToken)
    {
        _timer = new Timer(Refresh, null, TimeSpan.Zero, TimeSpan.FromHours(6));
        return Task.CompletedTask;
    }

    private void Refresh(object? state) => _prices.Reload();

    public Task StopAsync(CancellationToken cancellationToken)
    {
        _timer?.Change(Timeout.Infinite, 0);
        return Task.CompletedTask;
    }

    public void Dispose() => _timer?.Dispose();
}
