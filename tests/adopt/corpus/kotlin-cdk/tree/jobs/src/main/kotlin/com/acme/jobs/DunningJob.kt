package com.acme.jobs

import org.springframework.scheduling.annotation.Scheduled
import org.springframework.stereotype.Service

@Service
class DunningJob(private val mails: Mails) {

    @Scheduled(cron = "\${dunning.cron}", zone = "Europe/Vienna")
    fun remind() {
        mails.sendAll()
    }
}
