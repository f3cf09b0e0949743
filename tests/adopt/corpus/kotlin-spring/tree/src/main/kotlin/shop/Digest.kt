package shop

import org.springframework.scheduling.annotation.Scheduled
import org.springframework.stereotype.Component

@Component
class Digest(private val mailer: Mailer) {
    @Scheduled(cron = "0 0 6 * * *")
    fun send() {
        mailer.send()
    }
}
