package org.acme;

import io.quarkus.scheduler.Scheduled;
import jakarta.enterprise.context.ApplicationScoped;

@ApplicationScoped
public class CounterBean {

    @Scheduled(every = "10s")
    void heartbeat() {}

    @Scheduled(cron = "{stats.cron}", identity = "stats")
    void stats() {}
}
