package com.shop.jobs;

import lombok.RequiredArgsConstructor;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

@Component
@RequiredArgsConstructor
public class NightlyReportJob {
    private final ReportService reports;

    @Scheduled(cron = "${jobs.report.cron}", zone = "Europe/Madrid")
    public void run() {
        reports.sendNightly();
    }
}
