using Hangfire;
using Hangfire.MemoryStorage;

public class Startup
{
    public void ConfigureServices(IServiceCollection services)
    {
        services.AddHangfire(c => c.UseMemoryStorage());
        services.AddHangfireServer();
    }

    public void Configure(IApplicationBuilder app)
    {
        app.UseHangfireDashboard();
        RecurringJob.AddOrUpdate<MailJob>("mail", j => j.Send(), Cron.Daily(6));
    }
}
