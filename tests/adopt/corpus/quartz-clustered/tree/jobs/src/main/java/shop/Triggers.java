package shop;

import org.quartz.CronScheduleBuilder;
import org.quartz.DisallowConcurrentExecution;
import org.quartz.Trigger;
import org.quartz.TriggerBuilder;

@DisallowConcurrentExecution
class Triggers {
    Trigger digest() {
        return TriggerBuilder.newTrigger()
            .withSchedule(
                CronScheduleBuilder.cronSchedule("0 0 6 * * ?").withMisfireHandlingInstructionDoNothing())
            .build();
    }
}
