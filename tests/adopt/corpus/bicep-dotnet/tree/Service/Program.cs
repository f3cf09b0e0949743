using Service;

IHost host = Host.CreateDefaultBuilder(args)
    .ConfigureServices(services => { services.AddHostedService<RetentionWorker>(); })
    .Build();
await host.RunAsync();
