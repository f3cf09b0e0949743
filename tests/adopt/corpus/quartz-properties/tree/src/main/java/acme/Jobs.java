package acme;

import org.quartz.Scheduler;
import org.quartz.impl.StdSchedulerFactory;

public class Jobs {
    public static void main(String[] args) throws Exception {
        Scheduler scheduler = new StdSchedulerFactory("quartz.properties").getScheduler();
        scheduler.start();
    }
}
