package com.example;

import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Service;

@Service
public class Invoices {
    @Scheduled(cron = "${invoices.cron:0 0 6 * * *}", zone = "Europe/Berlin")
    void send() {
    }
}
