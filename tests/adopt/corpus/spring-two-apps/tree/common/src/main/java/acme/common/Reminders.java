package acme.common;

import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Service;

@Service
public class Reminders {
    @Scheduled(cron = "0 0 8 * * MON-FRI")
    public void send() {}
}
