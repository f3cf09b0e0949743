package org.acme;

import io.quarkus.scheduler.Scheduled;
import jakarta.enterprise.context.ApplicationScoped;

@ApplicationScoped
public class Counter {
    @Scheduled(cron = "{digest.cron}", identity = "digest", concurrentExecution = Scheduled.ConcurrentExecution.SKIP, delayed = "1m")
    void digest() {
    }
}
