"""The checklist for work at set times, as far as the code decides it. What it leaves open is no finding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from cronce.adopt.audit.matching import Match
from cronce.adopt.audit.model import AuditFinding, FoundClock, Place, Severity
from cronce.adopt.audit.rules import Statement
from cronce.adopt.audit.tree import SourceFile
from cronce.adopt.audit.words import LOCKS, TASKS

_TODAY = {
    "python": (
        r"\bdate\.today\(\)",
        r"\bdatetime\.(now|utcnow|today)\([^)]*\)\.(date|strftime|replace)\(",
        r"\btimezone\.now\(\)\.(date|strftime|replace)\(",
        r"\b(timezone\.)?localdate\(\)",
        r"\bpendulum\.(today|yesterday)\(",
        r"\b(now|utcnow|today)\([^)]*\)\s*-\s*(datetime\.)?timedelta\((days=)?1\)",
    ),
    "javascript": (
        r"\bnew Date\(\)\.(toISOString\(\)\.(slice|split|substring|substr)\(|toLocaleDateString|toDateString)",
        r"\bnew Date\(\)\.(getDate|getMonth|getFullYear|setHours)\(",
        r"\b(moment|dayjs)\(\)\.(format|startOf|subtract|endOf)\(",
        r"\bDateTime\.(now|local|utc)\(\)\.(toISODate|startOf|minus)\(",
        r"\b(startOfDay|subDays|startOfHour|format)\(\s*new Date\(\)|\bstartOfYesterday\(\)",
    ),
    "ruby": (
        r"\bDate\.(today|current|yesterday)\b",
        r"\bTime\.(zone\.)?(now|current)\.(to_date|beginning_of_\w+|strftime)",
        r"\bTime\.zone\.(today|yesterday)\b",
    ),
    "go": (
        r"\btime\.Now\(\)(\.UTC\(\)|\.In\([^)]*\))?\.Format\((\"(2006-01-02|20060102)\"|time\.DateOnly)",
        r"\btime\.Now\(\)(\.UTC\(\)|\.In\([^)]*\))?\.(Truncate\(24|AddDate\(0, ?0, ?-1\))",
    ),
    "java": (
        r"\b(LocalDate|YearMonth)\.now\(",
        r"\bLocalDateTime\.now\([^)]*\)\.(toLocalDate|minusDays|truncatedTo)",
        r"\bInstant\.now\(\)\.truncatedTo",
    ),
    "csharp": (
        r"\bDateTime\.(Today|(Utc)?Now\.(Date\b|AddDays\(-1\)|ToString\(\"yyyy-?MM-?dd\"))",
        r"\bDateOnly\.FromDateTime\(DateTime\.(Utc)?Now",
    ),
    "php": (
        r"\b(today|yesterday)\(\)",
        r"\bnow\(\)->(format|toDateString|startOfDay|subDay)\(",
        r"\bCarbon::((today|yesterday)\(|now\(\)->(toDateString|format|startOfDay|subDay)\()",
        r"\bdate\(['\"]Y-?m-?d['\"]\)",
        r"\bnew \\?DateTime(Immutable)?\(['\"](today|yesterday)",
    ),
}
"""How a job takes its day or hour from the clock. To measure how long something takes is no such thing."""

_LIKE = {"typescript": "javascript", "tsx": "javascript", "kotlin": "java"}
_NOW = {language: re.compile("|".join(patterns)) for language, patterns in _TODAY.items()}
_TAKES_PERIOD = re.compile(
    r"\A[^\n{]*\([^)]*\b(period|day|date|run_date|runDate|for_date|forDate|as_of|asOf|business_date|scheduled\w*|execution_date|when)\b",
    re.IGNORECASE,
)
_PERIOD_FIX = "Pass the period in: cronce exec -- COMMAND --day {period}, or claim.period in Python"

_WEB = {
    "python": r"\b(Flask|FastAPI|Starlette|Sanic|Quart|Litestar)\(|\bclass \w+\(AppConfig\)|get_(w|a)sgi_application\(",
    "javascript": r"\bexpress\(\)|\b[fF]astify\(|new (Koa|Hono)\(|NestFactory\.create\(|createServer\(|\bapp\.listen\(",
    "go": r"http\.ListenAndServe|gin\.(Default|New)\(|echo\.New\(|fiber\.New\(|chi\.NewRouter\(",
    "java": r"@(Rest)?Controller\b",
    "csharp": r"WebApplication\.Create|ControllerBase\b",
}
_WEB_CODE = {language: re.compile(pattern) for language, pattern in _WEB.items()}

_LOCK_CALL = re.compile(
    r"\.(?P<set>set)\(|\.(?P<nx>setnx|set_nx)\(|\b(?P<lock>(?:redis\w*|client|conn|r|cache)\.lock|redlock\.\w+)\("
    r"|\b(?P<add>cache\.add)\(|\b(?P<laravel>Cache::lock)\(|\b(?P<shedlock>lockAtMostFor)\s*=",
    re.IGNORECASE,
)
_LOCK_ARGUMENTS = {
    "set": re.compile(r"\bnx\s*[=:]\s*true|['\"]NX['\"]", re.IGNORECASE),
    "add": re.compile(r"\A\s*f?['\"][^'\"]*lock", re.IGNORECASE),
    "laravel": re.compile(r",\s*\d+"),
}
"""What the arguments of such a call have if it acquires a lock."""

_TIMED = re.compile(
    r"\b(ex|px|timeout|expire\w*|ttl)\s*[=:]|['\"](EX|PX)['\"]|time\.(Second|Minute|Hour)|,\s*\d{2,}\s*[,)]|lockAtMostFor|\d+\s*\*",
    re.IGNORECASE,
)
_SCHEDULED = re.compile(r"cron|job|schedul|digest|nightly|daily|\bbeat|leader|lockAtMostFor", re.IGNORECASE)
_RENEWED = re.compile(
    r"\.extend\(|\.reacquire\(|auto_?renew|keep_?alive|renew_?lock|heartbeat|extend_?lock", re.IGNORECASE
)

_TASK = re.compile(
    r"^@(?:[\w.]*\.)?(?:shared_)?task\b(?P<options>\([^)]*\)+)?[^\n]*\n(?:@[^\n]*\n)*(?:async )?def (?P<name>\w+)\(",
    re.MULTILINE,
)
_NEXT = re.compile(r"^[^\s)]", re.MULTILINE)
_DUE = re.compile(r"""["']task["']\s*:\s*["']([\w.]+)["']""")
_RETRIES = re.compile(r"autoretry_for|max_retries|\.retry\(|base\s*=")

_TABLE = re.compile(
    r"create\s+table\s+(?:if\s+not\s+exists\s+)?[\"`\[]?(?P<name>[\w.]{0,60}(?:job|task|cron|schedul|digest|batch)\w{0,60}(?:run|execution|histor|ledger|lock)\w{0,60})[\"`\]]?\s*\(",
    re.IGNORECASE,
)
_KIND = r"[\"`\[]?(?:job|task|kind|cron|schedule)(?:_?(?:name|id|key|kind|type))?[\"`\]]?"
_PERIOD = (
    r"[\"`\[]?(?:period|run_?date|run_?on|for_?date|business_?date|scheduled_?(?:for|at|time)|execution_?date"
    r"|due_?(?:at|on)|tick)[\"`\]]?"
)
_BOTH = rf"\(\s*(?:{_KIND}\s*,\s*{_PERIOD}|{_PERIOD}\s*,\s*{_KIND})\s*[,)]"


def check_jobs(matches: Iterable[tuple[SourceFile, Match]]) -> Iterator[AuditFinding]:
    """What the code of the clocks and their jobs decides."""
    reported: set[tuple[str, PurePosixPath, str]] = set()
    for file, match in matches:
        for finding in (*_statements(file, match), *_period(file, match), *_reachable(file, match)):
            key = (
                finding.rule,
                file.path,
                str(finding.place.line) if finding.rule == "period-from-now" else match.rule.id,
            )
            if key not in reported:
                reported.add(key)
                yield finding


def check_web(clocks: Iterable[FoundClock], texts: Iterable[SourceFile]) -> Iterator[AuditFinding]:
    """A clock that is started by the file that makes the web application."""
    by_path = {file.path: file for file in texts}
    for clock in clocks:
        file = by_path.get(clock.place.path)
        if file is None or clock.protected is not None or clock.command is not None:
            continue
        web = _WEB_CODE.get(_LIKE.get(file.language or "", file.language or ""))
        if "config/initializers/" in f"/{file.path}" or (web and web.search(file.text)):
            yield AuditFinding(
                rule="clock-started-by-web-app",
                severity=Severity.WARNING,
                place=clock.place,
                message=f"{clock.tool} is started in the web process: each copy and each worker of it has a clock,"
                " and a deployment of the web application stops it.",
                fix="Start the clock by its own command (cronce pin -- COMMAND), or make the job a scheduled task.",
            )


def may_have_lock(file: SourceFile) -> bool:
    """True if `check_locks` may find one in the file."""
    return file.language is not None and file.has_any(LOCKS) and any(timed_locks(file.text))


def check_locks(file: SourceFile, *, has_clock: bool) -> Iterator[AuditFinding]:
    """A lock around scheduled work that expires after a fixed time, however long the work takes."""
    if _RENEWED.search(file.text):
        return
    for start, call in timed_locks(file.text):
        if has_clock or _SCHEDULED.search(call):
            yield AuditFinding(
                rule="lock-with-guessed-time",
                severity=Severity.WARNING,
                place=Place(path=file.path, line=file.text.count("\n", 0, start) + 1),
                message="This lock expires after a fixed time: if the work takes longer, a second one starts beside it,"
                " and if it takes less, a late copy starts after it.",
                fix="Tie the lock to the process and keep one row per period: cronce exec --job JOB -- COMMAND",
            )


def timed_locks(text: str) -> Iterator[tuple[int, str]]:
    """Each call that acquires a lock for a fixed time: where it starts, and its text."""
    for match in _LOCK_CALL.finditer(text):
        kind = match.lastgroup or ""
        rest = text[match.end() : match.end() + 40] if kind == "shedlock" else _until_closed(text, match.end(), 400)
        needed = _LOCK_ARGUMENTS.get(kind)
        if (needed is None or needed.search(rest)) and (kind in ("laravel", "shedlock") or _TIMED.search(rest)):
            yield match.start(), match.group(0) + rest


def check_tables(files: Iterable[SourceFile]) -> Iterator[AuditFinding]:
    """A table of runs that two rows for one job and period fit into."""
    every = list(files)
    for file in every:
        for table in _TABLE.finditer(file.text):
            body = _until_closed(file.text, table.end())
            has_both = re.search(rf"(?m)(^|[(,])\s*{_KIND}\s+\w", body, re.IGNORECASE) and re.search(
                rf"(?m)(^|[(,])\s*{_PERIOD}\s+\w", body, re.IGNORECASE
            )
            if not has_both or re.search(rf"(?:unique|primary\s+key)[^(,]*{_BOTH}", body, re.IGNORECASE):
                continue
            name = re.escape(table["name"])
            index = re.compile(
                rf"(?:create\s+unique\s+index[^;]*\bon\s+|alter\s+table\s+(?:only\s+)?)[\"`\[]?{name}[\"`\]]?[^;]*{_BOTH}",
                re.IGNORECASE,
            )
            if any(index.search(other.text) for other in every):
                continue
            yield AuditFinding(
                rule="no-unique-key",
                severity=Severity.WARNING,
                place=Place(path=file.path, line=file.text.count("\n", 0, table.start()) + 1),
                message=f"{table['name']} has no unique key on job and period: two copies can insert the same run.",
                fix=f"CREATE UNIQUE INDEX ON {table['name']} (job, period);  -- the two columns",
            )


def may_have_tasks(file: SourceFile) -> bool:
    """True if `check_retries` may find a task of Celery in the file."""
    return file.language == "python" and file.has_any(TASKS) and _TASK.search(file.text) is not None


def check_retries(matches: Iterable[tuple[SourceFile, Match]], files: Iterable[SourceFile]) -> Iterator[AuditFinding]:
    """A task that Celery beat starts, by its full name, and that does not state its retries.

    A base class may say it, so a task that has one is left out.
    """
    due = {name for _, match in matches if match.rule.id == "celery-beat" for name in _DUE.findall(match.text)}
    if not due:
        return
    for file in files:
        module = ".".join(file.path.with_suffix("").parts)
        silent = [
            file.text.count("\n", 0, task.start()) + 1
            for task in _TASK.finditer(file.text)
            if any(f"{module}.{task['name']}".endswith(name) for name in due)
            and not _RETRIES.search(_definition_at(file.text, task))
        ]
        if silent:
            yield AuditFinding(
                rule="retries-not-stated",
                severity=Severity.INFO,
                place=Place(path=file.path, line=silent[0]),
                message="Nothing states how often this task is tried again. Without it, Celery does not try again.",
                fix="@app.task(autoretry_for=(OSError,), max_retries=3, retry_backoff=True)",
                related=tuple((Place(path=file.path, line=line), "nor here") for line in silent[1:]),
            )


def _definition_at(text: str, start: re.Match[str]) -> str:
    """A function with its decorators, up to the next line that is not indented."""
    end = _NEXT.search(text, start.end())
    return text[start.start() : end.start() if end else len(text)]


def _statements(file: SourceFile, match: Match) -> Iterator[AuditFinding]:
    for rule, what, statement in (
        ("overlap-not-stated", "whether a run may start while the last one works", match.rule.overlap),
        ("deadline-not-stated", "how late a run may start", match.rule.deadline),
    ):
        if statement is not None and _registers_a_job(match) and not _states(statement, match, file):
            yield AuditFinding(
                rule=rule,
                severity=Severity.INFO,
                place=Place(path=file.path, line=match.line),
                message=f"Nothing states {what}. Without it, {match.rule.tool} {statement.default}.",
                fix=statement.fix,
            )


def _registers_a_job(match: Match) -> bool:
    """The start of a scheduler states nothing; a job does. A match without `$JOB` may be either."""
    return match.job is not None or match.job_has_name is not None or match.rule.command is not None


def _states(statement: Statement, match: Match, file: SourceFile) -> bool:
    return statement.pattern.search(match.text if statement.scope == "match" else file.text) is not None


def _period(file: SourceFile, match: Match) -> Iterator[AuditFinding]:
    now = _NOW.get(_LIKE.get(file.language or "", file.language or ""))
    if match.job is None or now is None or _TAKES_PERIOD.search(match.job):
        return
    if found := now.search(match.job):
        yield AuditFinding(
            rule="period-from-now",
            severity=Severity.WARNING,
            place=Place(path=file.path, line=match.job_line + match.job.count("\n", 0, found.start())),
            message=f"The job asks the clock which day it is for ({found.group(0).strip()}): a late start, a retry"
            " after midnight or a rerun works on another day.",
            fix=_PERIOD_FIX,
        )


def _reachable(file: SourceFile, match: Match) -> Iterator[AuditFinding]:
    if match.job_has_name is False:
        yield AuditFinding(
            rule="job-not-reachable",
            severity=Severity.INFO,
            place=Place(path=file.path, line=match.line),
            message="The work is a function without a name inside the schedule: nobody can run it again by hand.",
            fix="Give the function a name and a command that calls it.",
        )


def _until_closed(text: str, start: int, most: int = 20_000) -> str:
    """The text from `start` to the parenthesis that closes the one before it; at most `most` characters."""
    depth = 1
    for place in range(start, min(len(text), start + most)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return text[start : start + most]
