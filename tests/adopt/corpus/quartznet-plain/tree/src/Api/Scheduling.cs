using Quartz;

namespace Api;

public static class Scheduling
{
    public static IServiceCollection AddScheduling(this IServiceCollection services)
    {
        services.AddQuartz(q =>
        {
            var key = new JobKey("statements");
            q.AddJob<StatementsJob>(o => o.WithIdentity(key));
            q.AddTrigger(o => o.ForJob(key).WithCronSchedule("0 0 5 1 * ?"));
        });
        return services.AddQuartzHostedService();
    }
}
