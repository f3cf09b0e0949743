using Coravel;
using Shop.Startup;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddScheduler();
var app = builder.Build();
app.UseShopSchedules();
app.Run();
