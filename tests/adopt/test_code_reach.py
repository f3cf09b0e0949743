"""Which of a project's processes run a clock in JavaScript, TypeScript, Go, C# and Java, and in how many of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cronce.adopt.audit.run import audit

COMPOSE = """services:
  web: {{build: ., command: {web}, scale: 4, environment: {{{web_settings}}}}}
  clock: {{build: ., command: {clock}, environment: {{{clock_settings}}}}}
"""
JOBS = """import cron from 'node-cron';
export function startJobs() {
  cron.schedule('0 6 * * *', send, { noOverlap: true });
}
function send() {}
"""
GO = """package jobs
import "github.com/robfig/cron/v3"
func Start() {
	c := cron.New(cron.WithChain(cron.SkipIfStillRunning(nil)))
	c.Start()
}
"""
ONCE = ["clock-kept-by-one-line"]
IN_COPIES = ["clock-in-copies"]
LOCKED = ["clock-with-own-lock"]


def _found(folder: Path, files: dict[str, str], **given: str) -> list[str]:
    defaults = {"web": "node index.js", "clock": "node index.js", "web_settings": "", "clock_settings": ""}
    for name, text in {**files, "compose.yaml": COMPOSE.format(**{**defaults, **given})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [finding.rule for finding in audit(folder).findings if finding.rule.startswith("clock-")]


def _of_node(folder: Path, index: str, *, settings: str = "RUN_CRON: 'true'", **more: str) -> list[str]:
    files = {"index.ts": f"import {{ startJobs }} from './jobs';\n{index}", "jobs.ts": JOBS}
    return _found(folder, {**files, **more}, clock_settings=settings)


@pytest.mark.parametrize(
    "index",
    [
        "if (process.env.RUN_CRON === 'true') startJobs();",
        "if (process.env.RUN_CRON?.toLowerCase() === 'true') { startJobs(); }",
        "if (!process.env.RUN_CRON) process.exit(0);\nstartJobs();",
        "function main() {\n  if (process.env.RUN_CRON !== 'true') return;\n  startJobs();\n}\nmain();",
        "async function jobs() { startJobs(); }\nif (process.env.RUN_CRON) { await jobs(); }",
        "process.env.RUN_CRON === 'true' && startJobs();",
        "const enabled = process.env.RUN_CRON === 'true';\nif (enabled && true) startJobs();",
        "app.listen(1, () => { if (Boolean(process.env.RUN_CRON)) startJobs(); });",
        "const isClock = () => process.env.RUN_CRON === 'true';\nif (isClock()) startJobs();",
        "if (config.get<string>('RUN_CRON') === 'true') startJobs();",
        "if (['1', 'true'].includes(process.env.RUN_CRON)) startJobs();",
    ],
)
def test_a_call_behind_a_setting_belongs_to_the_services_that_have_it(tmp_path: Path, index: str) -> None:
    """In another file than the clock's; the four copies of the web service do not have it."""
    assert _of_node(tmp_path, index) == ONCE


@pytest.mark.parametrize(
    "index",
    [
        "startJobs();",
        "if (process.env.OTHER === 'true') startJobs();",
        "if (process.env.RUN_CRON === 'true') { log(); }\nstartJobs();",
        "if (process.env.RUN_CRON !== 'true') startJobs();",
        "if (process.env.RUN_CRON || true) startJobs();",
        "if (process.env.NODE_ENV === 'production') startJobs();",
        "schedule(startJobs);",
    ],
)
def test_a_call_that_nothing_rules_out_belongs_to_every_service(tmp_path: Path, index: str) -> None:
    """Also a condition that nothing decides."""
    assert _of_node(tmp_path, index) == IN_COPIES


def test_a_setting_is_followed_through_a_module_of_settings(tmp_path: Path) -> None:
    """`config.cron.enabled`, which another file reads from the environment."""
    config = "export const config = {\n  cron: {\n    enabled: process.env.RUN_CRON === 'true',\n  },\n};\n"
    index = "import { config } from './config';\nif (config.cron.enabled) startJobs();"
    assert _of_node(tmp_path, index, **{"config.ts": config}) == ONCE


@pytest.mark.parametrize(
    ("clock", "index"),
    [
        (
            "node index.js worker",
            "switch (process.argv[2]) {\n  case 'worker': startJobs(); break;\n  default: serve();\n}",
        ),
        ("node index.js --jobs", "if (process.argv.includes('--jobs')) startJobs();"),
        ("node index.js worker", "if (process.argv[2] === 'worker') startJobs();"),
    ],
)
def test_an_argument_chooses_what_starts(tmp_path: Path, clock: str, index: str) -> None:
    """As with the settings."""
    files = {"index.ts": f"import {{ startJobs }} from './jobs';\n{index}", "jobs.ts": JOBS}
    assert _found(tmp_path, files, clock=clock) == ONCE


def test_a_function_that_nothing_calls_is_no_clock(tmp_path: Path) -> None:
    """Neither in a file that is imported, nor in one that is not."""
    assert _of_node(tmp_path, "serve();") == []
    assert _found(tmp_path, {"index.ts": "serve();"}) == []


@pytest.mark.parametrize(
    ("jobs", "index"),
    [
        (JOBS, "import { startJobs as go } from './jobs';\ngo();"),
        (JOBS, "import * as jobs from './jobs.js';\njobs.startJobs();"),
        (JOBS.replace("export function", "export default function"), "import run from './jobs';\nrun();"),
        (JOBS.replace("export ", "") + "module.exports = { startJobs };", "require('./jobs').startJobs();"),
        (JOBS.replace("export ", "") + "module.exports = startJobs;", "require('./jobs')();"),
        (JOBS.replace("export function startJobs()", "export default async ()=>"), "import run from './jobs';\nrun();"),
        (
            JOBS.replace("export function startJobs()", "export class Jobs { start()") + "}",
            "new (require('./jobs').Jobs)();",
        ),
    ],
)
def test_a_function_is_found_by_whatever_name_it_is_called(tmp_path: Path, jobs: str, index: str) -> None:
    """Aliases, defaults, members of a module, classes."""
    assert _found(tmp_path, {"index.ts": index, "jobs.ts": jobs}) == IN_COPIES


def test_what_a_file_exports_as_a_whole_is_called_by_what_loads_the_folder(tmp_path: Path) -> None:
    """Autoload calls each file's own function, whose name nobody writes."""
    index = "import autoload from '@fastify/autoload';\napp.register(autoload, { dir: join(__dirname, 'plugins') });"
    jobs = JOBS.replace("export function", "export default function")
    assert _found(tmp_path, {"index.ts": index, "plugins/jobs.ts": jobs}) == IN_COPIES


def test_a_file_that_is_required_behind_a_setting_is_not_loaded_elsewhere(tmp_path: Path) -> None:
    """`require` and `import()` are calls."""
    jobs = JOBS.replace("export function startJobs() {", "{")
    files = {"index.ts": "if (process.env.RUN_CRON) {\n  require('./jobs');\n}", "jobs.ts": jobs}
    assert _found(tmp_path, files, clock_settings="RUN_CRON: 1") == ONCE


FORKS = "import cluster from 'cluster';\nif (cluster.isPrimary) {{\n  cluster.fork();\n{}}} else {{\n{}}}\n{}"


@pytest.mark.parametrize(
    ("index", "found"),
    [
        (FORKS.format("  startJobs();\n", "", ""), ONCE),
        (FORKS.format("", "  startJobs();\n", ""), IN_COPIES),
        (FORKS.format("", "", "startJobs();\n"), IN_COPIES),
        ("if (!process.env.NODE_APP_INSTANCE || process.env.NODE_APP_INSTANCE === '0') startJobs();", ONCE),
        ("if (await isLeader()) startJobs();", LOCKED),
        ("elector.on('x', async () => { if (!(await tryAdvisoryLock())) return; startJobs(); });", LOCKED),
    ],
)
def test_workers_of_a_process_and_leaders_are_told_apart(tmp_path: Path, index: str, found: list[str]) -> None:
    """What the primary does is done once per copy, what each worker does several times."""
    files = {"index.ts": f"import {{ startJobs }} from './jobs';\n{index}", "jobs.ts": JOBS}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "compose.yaml").write_text("services:\n  web: {build: ., command: pm2-runtime index.ts -i 1}\n")
    assert [each.rule for each in audit(tmp_path).findings if each.rule.startswith("clock-")] == found


@pytest.mark.parametrize(
    ("main", "found"),
    [
        ("jobs.Start()", IN_COPIES),
        ('if os.Getenv("RUN_CRON") == "true" {\n\tjobs.Start()\n}', ONCE),
        ("if cfg.RunCron {\n\tgo jobs.Start()\n}", ONCE),
        ('if run, _ := strconv.ParseBool(os.Getenv("RUN_CRON")); run {\n\tjobs.Start()\n}', IN_COPIES),
        ('switch os.Args[1] {\ncase "clock":\n\tjobs.Start()\ndefault:\n\tserve()\n}', ONCE),
        ("leaderelection.RunOrDie(ctx, Config{Callbacks: C{OnStartedLeading: func(ctx) { jobs.Start() }}})", LOCKED),
        ("serve()", []),
    ],
)
def test_calls_of_go_are_followed(tmp_path: Path, main: str, found: list[str]) -> None:
    """Through packages, with tags of a struct of settings."""
    files = {
        "go.mod": "module example.com/m\n",
        "main.go": f'package main\nimport "example.com/m/jobs"\nvar cfg Config\nfunc main() {{\n{main}\n}}\n'
        'type Config struct {\n\tRunCron bool `env:"RUN_CRON" envDefault:"false"`\n}\n',
        "jobs/jobs.go": GO,
    }
    commands = {"web": "./app serve", "clock": "./app clock"}
    assert _found(tmp_path, files, clock_settings="RUN_CRON: 'true'", **commands) == found


@pytest.mark.parametrize(
    ("program", "settings", "found"),
    [
        ("builder.Services.AddHostedService<Nightly>();", "Jobs__Enabled: 'true'", IN_COPIES),
        (
            'if (builder.Configuration.GetValue<bool>("Jobs:Enabled")) { services.AddHostedService<Nightly>(); }',
            "Jobs__Enabled: 'true'",
            ONCE,
        ),
        (
            'if (builder.Configuration["Jobs:Enabled"] == "true") builder.Services.AddHostedService<Nightly>();',
            "Jobs__Enabled: 'true'",
            ONCE,
        ),
        ("builder.Services.AddControllers();", "", []),
    ],
)
def test_hosted_services_of_net_run_where_they_are_registered(
    tmp_path: Path, program: str, settings: str, found: list[str]
) -> None:
    """Under the name that the setting has as an environment variable."""
    files = {
        "App.csproj": "<Project/>",
        "Program.cs": f"var builder = WebApplication.CreateBuilder(args);\n{program}\n",
        "Nightly.cs": "class Nightly : BackgroundService {\n  async Task ExecuteAsync(CancellationToken t) {\n"
        "    var timer = new PeriodicTimer(TimeSpan.FromDays(1));\n  }\n}\n",
    }
    assert _found(tmp_path, files, web="dotnet App.dll", clock="dotnet App.dll", clock_settings=settings) == found


SPRING = """package a;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;
{}
@Component
class Digest {{
    @Scheduled(cron = "0 0 6 * * *")
    void send() {{}}
}}
"""
APPLICATION = "package a;\n@SpringBootApplication\n{}\nclass App {{}}\n"
CONFIG = "package a;\n@Configuration\n@EnableScheduling\n{}\nclass Config {{}}\n"


@pytest.mark.parametrize(
    ("on_config", "on_job", "settings", "properties", "found"),
    [
        ("", "", "", "", IN_COPIES),
        ('@ConditionalOnProperty("jobs.enabled")', "", "JOBS_ENABLED: 'true'", "", ONCE),
        ("", '@ConditionalOnProperty(name = "jobs.enabled", havingValue = "true")', "JOBS_ENABLED: 'true'", "", ONCE),
        (
            '@ConditionalOnProperty(prefix = "jobs", name = "enabled")',
            "",
            "RUN: 'true'",
            "jobs.enabled=${RUN:false}",
            ONCE,
        ),
        (
            "",
            '@ConditionalOnProperty(value = "jobs.enabled", matchIfMissing = true)',
            "JOBS_ENABLED: 'true'",
            "",
            IN_COPIES,
        ),
        ("", '@Profile("clock")', "SPRING_PROFILES_ACTIVE: 'prod,clock'", "", ONCE),
        ("", '@Profile("!clock")', "SPRING_PROFILES_ACTIVE: clock", "", IN_COPIES),
        ('@ConditionalOnProperty("jobs.enabled")', "", "", "", IN_COPIES),
    ],
)
def test_conditions_of_spring_are_those_of_its_settings(  # noqa: PLR0917  # the columns
    tmp_path: Path, on_config: str, on_job: str, settings: str, properties: str, found: list[str]
) -> None:
    """On the job, or on the class that switches scheduling on; a setting that nothing gives rules nothing out."""
    files = {
        "src/main/java/a/App.java": APPLICATION.format(""),
        "src/main/java/a/Config.java": CONFIG.format(on_config),
        "src/main/java/a/Digest.java": SPRING.format(on_job),
        "src/main/resources/application.properties": properties,
    }
    assert _found(tmp_path, files, web="java -jar a.jar", clock="java -jar a.jar", clock_settings=settings) == found


def test_an_application_that_does_not_switch_scheduling_on_has_no_clock(tmp_path: Path) -> None:
    """Spring looks for `@Scheduled` only then; what has no application class may be switched on elsewhere."""
    files = {"App.java": APPLICATION.format(""), "Digest.java": SPRING.format("")}
    assert _found(tmp_path, files, web="java -jar a.jar", clock="java -jar a.jar") == []
    (tmp_path / "App.java").unlink()
    assert _found(tmp_path, {}, web="java -jar a.jar", clock="java -jar a.jar") == IN_COPIES


def test_functions_that_call_each_other_and_very_long_chains_end(tmp_path: Path) -> None:
    """A circle with a way in runs, one without does not; a chain that is too long counts as running."""
    circle = "import { startJobs } from './jobs';\nfunction a() { b(); }\nfunction b() { a(); startJobs(); }\n"
    assert _found(tmp_path, {"index.ts": circle, "jobs.ts": JOBS}) == []
    assert _found(tmp_path, {"index.ts": f"{circle}a();"}) == IN_COPIES
    chain = "".join(f"function f{n}() {{ f{n + 1}(); }}\n" for n in range(500))
    index = f"import {{ startJobs }} from './jobs';\n{chain}function f500() {{ startJobs(); }}\n"
    assert _found(tmp_path, {"index.ts": index}) == IN_COPIES
