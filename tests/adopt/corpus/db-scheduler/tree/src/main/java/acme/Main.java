package acme;

import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.task.helper.RecurringTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import com.github.kagkarlsson.scheduler.task.schedule.Schedules;

public class Main {
    public static void main(String[] args) {
        RecurringTask<Void> daily = Tasks.recurring("daily", Schedules.cron("0 0 6 * * *")).execute((i, c) -> {});
        Scheduler.create(dataSource()).startTasks(daily).threads(5).build().start();
    }
}
