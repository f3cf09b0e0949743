package acme;

import java.util.concurrent.*;

class Purger {
    private final Db db;
    Purger(Db db) { this.db = db; }

    void start() {
        Executors.newScheduledThreadPool(1).scheduleWithFixedDelay(this::purge, 1, 24, TimeUnit.HOURS);
    }

    void purge() {
        if (!db.queryBoolean("select pg_try_advisory_lock(815)")) return;
        db.execute("delete from events where at < now() - interval '90 days'");
    }
}
