"""What comes from a file can be anything: as a literal it reads back as the same text, as a comment it stays one."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
import unicodedata

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cronce.adopt.convert.fitting import ImportTarget
from cronce.adopt.convert.writers.literals import hcl_key, hcl_string, python_text, toml_key, toml_text
from tests.adopt.convert.files import of_text

HOSTILE = st.text(
    alphabet=st.sampled_from([*"ab\"'\\${}%#\n\r\t `<>=[]()!@:;,/*é\u202e\x1b\x85\u2028\U0001f600"]), max_size=30
)
ANY = st.one_of(HOSTILE, st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=30))
WORDS = ANY.filter(lambda text: "{period}" not in text)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: not re.search(r"(?i)cronce_|pass|pwd|secret|token|cred|private|dsn|auth|key", name)
)


def read_hcl(text: str) -> str:
    """A quoted template of HCL without templates in it (HCL's specification, "Template Expressions")."""
    assert text[0] == text[-1] == '"'
    inside = text[1:-1]
    assert not re.search(r'(?<!\\)(?:\\\\)*"', inside)
    assert "\n" not in inside
    pieces = re.findall(r'\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|\\[nrt"\\]|\$\$\{|%%\{|[^\\]', inside)
    assert "".join(pieces) == inside
    simple = {"\\n": "\n", "\\r": "\r", "\\t": "\t", '\\"': '"', "\\\\": "\\", "$${": "${", "%%{": "%{"}
    read = []
    for piece in pieces:
        code = piece[2:] if re.fullmatch(r"\\[uU][0-9a-f]+", piece) else ""
        read.append(chr(int(code, 16)) if code else simple.get(piece, piece))
    assert not re.search(r"[$%]\{", re.sub(r"\$\$\{|%%\{", "", inside))
    return "".join(read)


@settings(deadline=None)
@given(ANY)
def test_a_literal_reads_back_as_the_same_text(text: str) -> None:
    """Of Python, TOML and HCL; as a value and as a key."""
    assert ast.literal_eval(python_text(text)) == text
    assert tomllib.loads(f"x = {toml_text(text)}") == {"x": text}
    assert tomllib.loads(f"{toml_key(text)} = 1") == {text: 1}
    assert read_hcl(hcl_string(text)) == text
    key = hcl_key(text)
    assert (read_hcl(key) if key.startswith('"') else key) == text


def test_a_template_of_hcl_is_text() -> None:
    """Also after dollar signs, which would otherwise join."""
    assert hcl_string("${x}") == '"$${x}"'
    assert hcl_string("$${x}") == '"\\u0024$${x}"'
    assert hcl_string("%{if}") == '"%%{if}"'
    assert hcl_string("50% of $5 {x}") == '"50% of $5 {x}"'


@settings(max_examples=25, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=4), st.dictionaries(NAMES, WORDS, max_size=3), ANY)
def test_the_python_of_a_rule_has_the_same_words(words: list[str], variables: dict[str, str], described: str) -> None:
    """Command and variables; nothing of the file becomes code."""
    rule = {
        "name": "job",
        "description": described,
        "scheduleExpression": "cron(0 6 * * ? *)",
        "taskDefinition": described or "task",
        "containerOverrides": [{"name": "app", "command": words, "environment": variables}],
    }
    done = of_text("ecschedule", yaml.safe_dump({"rules": [rule]}))
    tree = ast.parse(done.code)
    [made] = [each for each in ast.walk(tree) if isinstance(each, ast.Call) and _name(each) == "ScheduledTask"]
    given_words = {each.arg: each.value for each in made.keywords}
    assert ast.literal_eval(given_words["command"]) == ["cronce", "exec", "--", *words]
    kept = ast.literal_eval(given_words["environment"]) if "environment" in given_words else {}
    assert kept.items() <= variables.items()
    assert {_name(each) for each in ast.walk(tree) if isinstance(each, ast.Call)} <= {
        "ScheduledTask",
        "Policy",
        "__init__",
        "super",
    }


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


@settings(max_examples=25, deadline=None)
@given(ANY.filter(lambda name: name.isprintable() and name and "=" not in name and not name.startswith("CRONCE_")), ANY)
@example("a", "$$$$(A)$")
def test_the_python_of_a_manifest_has_the_same_variables(name: str, value: str) -> None:
    """Names too, such as one that begins like an unpacked mapping; secrets are elsewhere."""
    for variable in (name, f"**{name}", f"**{name}{'x' * 90}"):
        container = {"image": value or "i", "command": ["c", value], "env": [{"name": variable, "value": value}]}
        container["envFrom"] = [{"configMapRef": {"name": value or "m"}}]
        template = {"spec": {"template": {"spec": {"containers": [container]}}}}
        spec = {"schedule": "0 6 * * *", "jobTemplate": template}
        text = yaml.safe_dump({"kind": "CronJob", "metadata": {"name": "a"}, "spec": spec})
        if not container["image"].strip() or not container["image"].isprintable():  # type: ignore[attr-defined]
            return
        tree = ast.parse(of_text("cronjob", text).code)
        [made] = [each for each in ast.walk(tree) if isinstance(each, ast.Call) and _name(each) == "add_container"]
        given_words = {each.arg: each.value for each in made.keywords}
        assert ast.literal_eval(given_words["command"]) == ["c", value.replace("$$", "$")]  # as the kubelet reads it
        environment, secrets = given_words.get("environment"), given_words.get("secrets")
        keys = [*getattr(environment, "keys", ()), *getattr(secrets, "keys", ())]
        assert [ast.literal_eval(key) for key in keys if key is not None] == [variable]
        assert {_name(each) for each in ast.walk(tree) if isinstance(each, ast.Call)} <= {
            *("ScheduledTask", "Policy", "__init__", "super", "add_container", "Guard", "FargateTaskDefinition"),
            *("from_registry", "from_secrets_manager", "aws_logs"),
        }


@settings(max_examples=25, deadline=None)
@given(st.lists(WORDS.filter(lambda word: not re.search(r"[\n\r%]", word)), min_size=1, max_size=4))
def test_the_toml_of_a_crontab_has_the_same_words(words: list[str]) -> None:
    """By a shell or without one."""
    line = shlex.join(["/bin/work", *words])
    if line.splitlines() != [line] or line.strip() != line:
        return
    done = of_text("crontab", f"0 6 * * * {line}", ImportTarget.CLOCK)
    [job] = tomllib.loads(done.code)["jobs"].values()
    command = job["target"]["command"]
    said = shlex.split(command[2]) if command[:2] == ["/bin/sh", "-c"] else command
    assert said == ["/bin/work", *words]


@settings(max_examples=25, deadline=None)
@given(ANY.filter(lambda text: re.search("[A-Za-z0-9]", text)), ANY)
def test_the_name_of_a_file_and_of_a_rule_is_no_code(name: str, file: str) -> None:
    """In comments, docstrings and literals."""
    from cronce.adopt.convert.conversion import convert  # noqa: PLC0415
    from cronce.adopt.convert.model import Source  # noqa: PLC0415

    rule = {"name": name, "scheduleExpression": "rate(1 hour)", "taskDefinition": name, "group": name}
    text = yaml.safe_dump({"region": name, "rules": [rule]})
    given_file = [Source(file=file.replace("sonnet", ""), text=text)]
    code = convert("ecschedule", given_file, ImportTarget.CDK).code
    assert len(ast.parse(code).body) in (7, 8, 9)
    [job] = tomllib.loads(convert("ecschedule", given_file, ImportTarget.CLOCK).code)["jobs"]
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", job)
    for line in convert("ecschedule", given_file, ImportTarget.TERRAFORM).code.splitlines():
        assert line.startswith("#") or unicodedata.is_normalized("NFC", line) or '"' in line
