package com.acme;

import static org.quartz.CronScheduleBuilder.cronSchedule;
import static org.quartz.JobBuilder.newJob;

import org.quartz.Trigger;
import org.quartz.TriggerBuilder;
import org.quartz.impl.StdSchedulerFactory;

class Scheduler {
    void start() throws Exception {
        Trigger nightly = TriggerBuilder.newTrigger().withSchedule(cronSchedule("0 0 1 * * ?")).build();
        org.quartz.Scheduler scheduler = StdSchedulerFactory.getDefaultScheduler();
        scheduler.scheduleJob(newJob(Archive.class).build(), nightly);
        scheduler.start();
    }
}
