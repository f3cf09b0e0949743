CREATE TABLE job_runs (
    id bigserial PRIMARY KEY,
    job text NOT NULL,
    period date NOT NULL,
    finished_at timestamptz
);

CREATE TABLE IF NOT EXISTS task_executions (
    task_name varchar(100) NOT NULL,
    run_date date NOT NULL,
    status text,
    PRIMARY KEY (task_name, run_date)
);

CREATE TABLE cron_history (
    job text NOT NULL,
    scheduled_for timestamptz NOT NULL
);

CREATE TABLE orders (id bigserial PRIMARY KEY, kind text, due_at date);
