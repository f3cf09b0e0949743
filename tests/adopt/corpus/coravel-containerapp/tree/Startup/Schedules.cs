using Coravel;

namespace Shop.Startup;

public static class Schedules
{
    public static void UseShopSchedules(this WebApplication app)
    {
        app.Services.UseScheduler(scheduler =>
        {
            scheduler.Schedule<DigestJob>().DailyAtHour(6).PreventOverlapping("digest");
        });
    }
}
