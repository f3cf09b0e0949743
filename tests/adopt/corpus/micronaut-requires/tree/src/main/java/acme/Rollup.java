package acme;

import io.micronaut.context.annotation.Requires;
import io.micronaut.scheduling.annotation.Scheduled;
import jakarta.inject.Singleton;

@Singleton
@Requires(property = "rollup.enabled", value = "true")
public class Rollup {
    @Scheduled(cron = "0 10 3 * * ?")
    void run() {}
}
