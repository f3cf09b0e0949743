package com.acme;

import org.quartz.CronScheduleBuilder;
import org.quartz.JobBuilder;
import org.quartz.JobDetail;
import org.quartz.Trigger;
import org.quartz.TriggerBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration
public class QuartzConfig {
    @Bean
    JobDetail settlementJob() {
        return JobBuilder.newJob(SettlementJob.class).withIdentity("settlement").storeDurably().build();
    }

    @Bean
    Trigger settlementTrigger(JobDetail job) {
        return TriggerBuilder.newTrigger().forJob(job)
            .withSchedule(CronScheduleBuilder.cronSchedule("0 0 23 * * ?").withMisfireHandlingInstructionDoNothing())
            .build();
    }
}
