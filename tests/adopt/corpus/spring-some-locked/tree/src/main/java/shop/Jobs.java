package shop;

import java.time.LocalDate;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

@Component
public class Jobs {

    @Scheduled(cron = "0 0 6 * * *", zone = "Europe/Berlin")
    public void digest() {
        mailer.send(LocalDate.now());
    }

    @Scheduled(cron = "0 0 3 * * *")
    @SchedulerLock(name = "rollup", lockAtMostFor = "10m")
    public void rollup() {
    }

    @Scheduled(fixedDelay = 5000)
    public void poll() {
    }
}
