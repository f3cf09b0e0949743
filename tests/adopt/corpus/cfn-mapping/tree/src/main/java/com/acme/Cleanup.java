package com.acme;

import jakarta.annotation.PostConstruct;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.springframework.stereotype.Component;

@Component
public class Cleanup {
    private final ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor();

    @PostConstruct
    void start() {
        executor.scheduleAtFixedRate(this::purge, 0, 12, TimeUnit.HOURS);
    }

    private void purge() {}
}
