var builder = Host.CreateApplicationBuilder(args);
builder.Services.AddHostedService<PriceRefresher>();
builder.Services.AddSingleton<IPrices, Prices>();
await builder.Build().RunAsync();
