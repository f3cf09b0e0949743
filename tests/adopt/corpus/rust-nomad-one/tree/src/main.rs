use clokwerk::{Scheduler, TimeUnits};
use std::time::Duration;

fn main() {
    let mut scheduler = Scheduler::new();
    scheduler.every(1.day()).at("3:20 am").run(|| sync());
    loop {
        scheduler.run_pending();
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn sync() {}
