using Api;
var builder = WebApplication.CreateBuilder(args);
builder.Services.AddScheduling();
var app = builder.Build();
app.Run();
