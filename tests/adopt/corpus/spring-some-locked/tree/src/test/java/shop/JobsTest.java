package shop;

import org.springframework.scheduling.annotation.Scheduled;

class JobsTest {
    @Scheduled(cron = "* * * * * *")
    void never() {
    }
}
