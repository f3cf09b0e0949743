package acme;

import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

@Component
class Expiry {
    @Scheduled(fixedRateString = "PT6H")
    void expire() {}
}
