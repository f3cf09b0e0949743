using System.Collections.Concurrent;
using Hangfire;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddHangfire(x => x.UseSqlServerStorage("db"));
var app = builder.Build();

RecurringJob.AddOrUpdate<Digest>("digest", x => x.Send(), Cron.Daily(6));

var counts = new ConcurrentDictionary<string, int>();
counts.AddOrUpdate("visits", 1, (_, n) => n + 1);
app.Run();
