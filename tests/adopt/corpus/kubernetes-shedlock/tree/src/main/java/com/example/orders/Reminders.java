package com.example.orders;

import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

@Component
public class Reminders {
    @Scheduled(cron = "0 0 6 * * *")
    @SchedulerLock(name = "reminders")
    public void send() {
        System.out.println("reminders");
    }
}
