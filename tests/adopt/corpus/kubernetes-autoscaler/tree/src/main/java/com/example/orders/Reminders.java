package com.example.orders;

import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

@Component
public class Reminders {
    @Scheduled(cron = "0 0 6 * * *")
    public void send() {
        System.out.println("reminders");
    }
}
