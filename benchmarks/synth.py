"""What a job costs at synth, compared with CDK's own schedule that starts the same task, in one run.

    python benchmarks/synth.py                  # 100 jobs, 7 rounds
    python benchmarks/synth.py --jobs 10 --rounds 3
    python benchmarks/synth.py --calls          # calls to the Node process too, by kind

Each figure is of a new process. Ours and theirs alternate, so that other load on the machine affects
both. "Ours" is a `RunLedger` with `ScheduledTask`s, "bare" is `aws_scheduler.Schedule` with
`EcsRunFargateTask`: no ledger, no period, no watchdog, one role for all. Cluster and task definition are
shared and the same in both.

The first two rows are the whole process, as `python app.py` has it: interpreter, imports, Node process,
constructs, synth. The others exclude what comes before the first construct. CPU time counts the Node
process too, and depends less on other load. Most of it is CDK's own validation of the template, half of
that its start: about two seconds, independent of the template.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

WHO = ("bare", "ours")
TARGET = 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """Seconds of one process: the whole of it, and from its first construct on."""

    whole: float
    whole_cpu: float
    making: float
    making_cpu: float
    resources: int
    calls: dict[str, int]


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", action="store_true", help="count trips to the Node process (and slow everything)")
    parser.add_argument("--make", choices=WHO, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        _make(options.make, options.jobs, count_calls=options.calls)
        return
    took: dict[str, list[Took]] = {who: [] for who in WHO}
    _run("ours", options.jobs, count_calls=False)  # byte code and disk caches
    for number in range(options.rounds):
        for who in WHO if number % 2 else reversed(WHO):
            took[who].append(_run(who, options.jobs, count_calls=options.calls))
    print(f"{options.jobs} jobs, medians of {options.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print(f"{'':36}{'bare':>9}{'ours':>9}{'ratio':>11}{'of pairs':>11}")
    for title, figure in (
        ("whole process, wall seconds", lambda each: each.whole),
        ("whole process, CPU seconds", lambda each: each.whole_cpu),
        ("constructs and synth, wall seconds", lambda each: each.making),
        ("constructs and synth, CPU seconds", lambda each: each.making_cpu),
    ):
        bare, ours = ([figure(each) for each in took[who]] for who in WHO)
        ratios = sorted(mine / theirs for mine, theirs in zip(ours, bare, strict=True))
        verdict = "met" if median(ratios) <= TARGET else "NOT met"
        row = f"{title:36}{median(bare):9.2f}{median(ours):9.2f}{median(ours) / median(bare):10.2f}x"
        print(f"{row}{median(ratios):10.2f}x  ({ratios[0]:.2f} to {ratios[-1]:.2f})  {TARGET}x {verdict}")
    for who in WHO:
        print(f"{who}: {took[who][0].resources} resources", end="")
        print(f", {sum(took[who][0].calls.values())} trips {took[who][0].calls}" if options.calls else "")


def _run(who: str, jobs: int, *, count_calls: bool) -> Took:
    command = [sys.executable, __file__, "--make", who, "--jobs", str(jobs), *(["--calls"] if count_calls else [])]
    with tempfile.TemporaryDirectory(prefix="cronce-synth-") as folder:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
        environment = {**os.environ, "CDK_OUTDIR": folder, "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1"}
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        whole, after = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(whole=whole, whole_cpu=cpu, **json.loads(done.stdout))


def _make(who: str, jobs: int, *, count_calls: bool) -> None:
    """One app, in this process; its figures go to stdout."""
    import aws_cdk as cdk  # noqa: PLC0415  # its import is measured
    from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415
    from aws_cdk import aws_ecs as ecs  # noqa: PLC0415

    from cronce_cdk import RunLedger, ScheduledTask  # noqa: PLC0415

    calls = _count_calls() if count_calls else Counter[str]()
    app = cdk.App()
    start, cpu = perf_counter(), _cpu_seconds(os.getpid())
    stack = cdk.Stack(app, "Jobs", env=cdk.Environment(account="111122223333", region="eu-west-1"))
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-0a1b2c3d4e5f60718",
        availability_zones=["eu-west-1a"],
        private_subnet_ids=["subnet-0a1b2c3d4e5f60001"],
        private_subnet_route_table_ids=["rtb-0a1b2c3d4e5f60001"],
    )
    cluster = ecs.Cluster.from_cluster_attributes(stack, "Cluster", cluster_name="main", vpc=vpc)
    task_definition = ecs.FargateTaskDefinition(stack, "Task")
    task_definition.add_container(
        "app",
        image=ecs.ContainerImage.from_registry("digest:1"),
        logging=ecs.LogDrivers.aws_logs(stream_prefix="app"),
    )
    if who == "ours":
        ledger = RunLedger(stack, "Ledger")
        for number in range(jobs):
            ScheduledTask(
                stack,
                f"Job{number}",
                ledger=ledger,
                schedule=f"{number % 60} {number % 24} * * *",
                cluster=cluster,
                task_definition=task_definition,
            )
    else:
        from aws_cdk import aws_scheduler as scheduler  # noqa: PLC0415
        from aws_cdk import aws_scheduler_targets as targets  # noqa: PLC0415

        for number in range(jobs):
            scheduler.Schedule(
                stack,
                f"Job{number}",
                schedule=scheduler.ScheduleExpression.cron(minute=str(number % 60), hour=str(number % 24)),
                target=targets.EcsRunFargateTask(cluster, task_definition=task_definition),
            )
    template = app.synth().get_stack_by_name("Jobs").template
    figures = {"making": perf_counter() - start, "making_cpu": _cpu_seconds(os.getpid()) - cpu}
    print(json.dumps({**figures, "resources": len(template["Resources"]), "calls": calls}))


def _cpu_seconds(process: int) -> float:
    """Of the process and all that it started (Linux, `man 5 proc`)."""
    seconds = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended just now
        if int(folder.name) == process:
            seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        elif int(fields[1]) == process:
            seconds += _cpu_seconds(int(folder.name))
    return seconds


def _count_calls() -> Counter[str]:
    from jsii._kernel import providers  # noqa: PLC0415

    calls: Counter[str] = Counter()
    process = providers.process._NodeProcess
    send = process.send

    def counted(self: object, request: object, response_type: object) -> object:
        calls[type(request).__name__.removesuffix("Request")] += 1
        return send(self, request, response_type)

    process.send = counted
    return calls


if __name__ == "__main__":
    main()
