package com.acme.billing;

import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

@Component
public class InvoiceJob {

    @Scheduled(cron = "${billing.invoice-cron:0 0 6 * * *}")
    public void run() {
    }
}
