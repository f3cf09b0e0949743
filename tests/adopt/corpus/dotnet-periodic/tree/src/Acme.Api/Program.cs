using Acme.Jobs;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddHostedService<NightlyExport>();
var app = builder.Build();
app.MapGet("/", () => "ok");
app.Run();
