"""The guard for images without Python."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs

import cronce
from cronce_cdk import ConstructConfigError, Guard, PinnedScheduler
from tests.cdk.shop import Shop

IMAGE = ecs.ContainerImage.from_registry("shop:1")
FOLDER = ecs.ContainerImage.from_registry("cronce:1")
COMMAND = ["bundle", "exec", "rails", "digest:send"]


def rails(shop: Shop, architecture: ecs.CpuArchitecture | None = None) -> ecs.FargateTaskDefinition:
    """A task definition without a container, for that processor."""
    platform = ecs.RuntimePlatform(cpu_architecture=architecture) if architecture else None
    return ecs.FargateTaskDefinition(shop.stack, "Rails", runtime_platform=platform)


def properties(shop: Shop, prefix: str = "Rails") -> dict[str, Any]:
    """The properties of the task definition whose logical ID begins so."""
    definitions = shop.resources("AWS::ECS::TaskDefinition")
    [found] = [each["Properties"] for name, each in definitions.items() if name.startswith(prefix)]
    assert isinstance(found, dict)
    return found


def assets(stack: cdk.Stack) -> dict[str, Any]:
    """The one image that a deployment builds."""
    app = cdk.App.of(stack)
    assert app is not None
    [manifest] = Path(app.synth().directory).glob("*.assets.json")
    [image] = json.loads(manifest.read_text())["dockerImages"].values()
    assert isinstance(image, dict)
    return image


def test_the_jobs_image_is_unmodified_and_starts_after_the_volume_is_filled(shop: Shop) -> None:
    """The exact containers and volumes."""
    task_definition = rails(shop)
    Guard(task_definition, image=FOLDER).add_container("digest", image=IMAGE, command=COMMAND)
    found = properties(shop)
    assert found["Volumes"] == [{"Name": "cronce"}]
    assert found["ContainerDefinitions"] == [
        {
            "Name": "cronce",
            "Image": "cronce:1",
            "Essential": False,
            "MountPoints": [{"SourceVolume": "cronce", "ContainerPath": "/cronce", "ReadOnly": False}],
        },
        {
            "Name": "digest",
            "Image": "shop:1",
            "Essential": True,
            "EntryPoint": ["/cronce/cronce", "exec", "--"],
            "Command": COMMAND,
            "DependsOn": [{"ContainerName": "cronce", "Condition": "SUCCESS"}],
            "MountPoints": [{"SourceVolume": "cronce", "ContainerPath": "/cronce", "ReadOnly": True}],
        },
    ]


def test_the_page_shows_what_the_construct_writes(shop: Shop) -> None:
    """For those who write their task definitions by hand."""

    def in_camel_case(value: Any) -> Any:  # noqa: ANN401  # JSON
        if isinstance(value, dict):
            return {name[:1].lower() + name[1:]: in_camel_case(each) for name, each in value.items()}
        return [*map(in_camel_case, value)] if isinstance(value, list) else value

    page = (Path(__file__).parents[2] / "docs" / "any-image.md").read_text()
    [shown] = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    task_definition = rails(shop)
    image, folder = (ecs.ContainerImage.from_registry(f"REGISTRY/{name}:1") for name in ("shop", "cronce"))
    Guard(task_definition, image=folder).add_container("digest", image=image, command=COMMAND)
    found = properties(shop)
    assert json.loads(shown) == in_camel_case({name: found[name] for name in ("Volumes", "ContainerDefinitions")})


def test_the_guards_container_is_never_the_job(shop: Shop) -> None:
    """With one other container, a job need not name it; with two, both are jobs of the same Guard."""
    task_definition = rails(shop)
    guard = Guard(task_definition, image=FOLDER)
    guard.add_container("digest", image=IMAGE, command=COMMAND, options=["--grace", "60s"])
    assert shop.job(task_definition=task_definition).container_name == "digest"
    guard.add_container("beat", image=IMAGE, command=["clockwork"], pin=True, essential=False)
    with pytest.raises(ConstructConfigError, match=r"one of several containers: digest, beat$"):
        shop.job("second", task_definition=task_definition)
    entry_points = {each["Name"]: each.get("EntryPoint") for each in properties(shop)["ContainerDefinitions"]}
    assert entry_points == {
        "cronce": None,
        "digest": ["/cronce/cronce", "exec", "--grace", "60s", "--"],
        "beat": ["/cronce/cronce", "pin", "--"],
    }


def test_a_container_that_was_added_otherwise_is_attached(shop: Shop) -> None:
    """At another path in the job's container; in its own image the folder stays where its VOLUME is."""
    task_definition = rails(shop)
    guard = Guard(task_definition, image=FOLDER, path="/opt/cronce")
    guard.attach(task_definition.add_container("digest", image=IMAGE, entry_point=[guard.program, "exec", "--"]))
    bringer, job = properties(shop)["ContainerDefinitions"]
    assert job["EntryPoint"] == ["/opt/cronce/cronce", "exec", "--"]
    assert [each["MountPoints"][0]["ContainerPath"] for each in (bringer, job)] == ["/cronce", "/opt/cronce"]


@pytest.mark.parametrize(
    ("architecture", "built_for"),
    [
        (None, "linux/amd64"),
        (ecs.CpuArchitecture.X86_64, "linux/amd64"),
        (ecs.CpuArchitecture.ARM64, "linux/arm64"),
    ],
    ids=["unstated", "x86", "arm"],
)
def test_the_image_is_built_from_the_installed_package_for_the_tasks_architecture(
    shop: Shop, architecture: ecs.CpuArchitecture | None, built_for: str
) -> None:
    """Its context is the package alone, with the Dockerfile in it."""
    Guard(rails(shop, architecture)).add_container("digest", image=IMAGE, command=COMMAND)
    source = assets(shop.stack)["source"]
    assert (source["dockerFile"], source["platform"]) == ("portable/Dockerfile", built_for)
    app = cdk.App.of(shop.stack)
    assert app is not None
    context = Path(app.synth().directory) / source["directory"]
    package = Path(cronce.__file__).parent
    modules = {path.relative_to(package) for path in package.rglob("*.py")}
    assert {path.relative_to(context) for path in context.rglob("*.py")} == modules
    assert list(context.rglob("*.pyc")) == []
    assert (context / "portable" / "launcher.c").exists()


def test_on_instances_its_container_has_a_memory_limit(shop: Shop) -> None:
    """Each container needs one there."""
    task_definition = ecs.Ec2TaskDefinition(shop.stack, "Rails")
    Guard(task_definition, image=FOLDER).add_container("digest", image=IMAGE, command=COMMAND, memory_limit_mib=256)
    assert properties(shop)["ContainerDefinitions"][0]["Memory"] == 32


@pytest.mark.parametrize(
    ("changed", "argument", "said"),
    [
        (
            {"command": []},
            "command",
            "docker inspect --format '{{json .Config.Entrypoint}} {{json .Config.Cmd}}' IMAGE",
        ),
        ({"command": None}, "command", "the full command"),
        ({"command": "rails digest:send"}, "command", "a list of at least one word"),
        ({"options": "--grace"}, "options", "a list of at least one word"),
        ({"entry_point": ["/entry"]}, "entry_point", "put the image's before the command"),
    ],
)
def test_a_container_that_cannot_work_is_refused(shop: Shop, changed: dict[str, Any], argument: str, said: str) -> None:
    """Before it is added."""
    guard = Guard(rails(shop), image=FOLDER)
    with pytest.raises(ConstructConfigError) as caught:
        guard.add_container("digest", **{"image": IMAGE, "command": COMMAND, **changed})
    assert caught.value.argument == argument
    assert said in caught.value.allowed


@pytest.mark.parametrize("path", ["cronce", "/", "", "/a/", "/a/../b", "/a//b", "a b"])
def test_a_path_that_is_none_is_refused(shop: Shop, path: str) -> None:
    """It must be absolute, below the root, and plain."""
    with pytest.raises(ConstructConfigError) as caught:
        Guard(rails(shop), image=FOLDER, path=path)
    assert caught.value.argument == "path"


def test_a_task_definition_that_cannot_hold_it_is_refused(shop: Shop) -> None:
    """Windows, an imported one, a second Guard, and something else."""
    of_windows = ecs.RuntimePlatform(
        operating_system_family=ecs.OperatingSystemFamily.WINDOWS_SERVER_2022_CORE,
        cpu_architecture=ecs.CpuArchitecture.X86_64,
    )
    windows = ecs.FargateTaskDefinition(
        shop.stack, "Windows", cpu=1024, memory_limit_mib=2048, runtime_platform=of_windows
    )
    imported: Any = ecs.FargateTaskDefinition.from_fargate_task_definition_arn(
        shop.stack, "Imported", "arn:aws:ecs:eu-west-1:111122223333:task-definition/shop:1"
    )
    with pytest.raises(ConstructConfigError, match="LINUX: cronce needs it"):
        Guard(windows)
    with pytest.raises(ConstructConfigError, match="imported"):
        Guard(imported)
    Guard(shop.task_definition, image=FOLDER)
    with pytest.raises(ConstructConfigError, match="one Guard"):
        Guard(shop.task_definition, "Again", image=FOLDER)
    nothing: Any = None
    with pytest.raises(TypeError, match="a task definition"):
        Guard(nothing)


@pytest.mark.parametrize("version", ["VERSION1_0", "VERSION1_1", "VERSION1_2"])
def test_fargate_platforms_without_an_order_of_containers_are_refused(shop: Shop, version: str) -> None:
    """`dependsOn` came with 1.3.0."""
    task_definition = rails(shop)
    Guard(task_definition, image=FOLDER).add_container("digest", image=IMAGE, command=COMMAND)
    with pytest.raises(ConstructConfigError) as caught:
        shop.job(task_definition=task_definition, platform_version=ecs.FargatePlatformVersion[version])
    assert caught.value.argument == "platform_version"
    shop.job("new", task_definition=task_definition, platform_version=ecs.FargatePlatformVersion.VERSION1_3)


def test_a_jobs_command_under_the_guard_is_stated_and_is_the_works_own(shop: Shop) -> None:
    """Also with the folder copied into the image, and no Guard: RunTask cannot override an entry point."""
    task_definition = rails(shop)
    task_definition.add_container("digest", image=IMAGE, entry_point=["/cronce/cronce", "exec", "--"])
    with pytest.raises(ConstructConfigError, match="the full command") as caught:
        shop.job("without", task_definition=task_definition)
    assert caught.value.argument == "command"
    with pytest.raises(ConstructConfigError, match="own command: the entry point is"):
        shop.job("twice", task_definition=task_definition, command=["cronce", "exec", "--", *COMMAND])
    shop.job("right", task_definition=task_definition, command=COMMAND)
    assert shop.override()["command"] == COMMAND


@pytest.mark.parametrize("guard", [True, FOLDER], ids=["built", "given"])
def test_a_clock_without_python_is_pinned(shop: Shop, *, guard: ecs.ContainerImage | bool) -> None:
    """Its health check is the folder's program, too."""
    clock(shop, guard=guard, command=["clockwork", "clock.rb"])
    found = {each["Name"]: each for each in properties(shop, "Clock")["ContainerDefinitions"]}
    assert found["clock"]["EntryPoint"] == ["/cronce/cronce", "pin", "--"]
    assert found["clock"]["Command"] == ["clockwork", "clock.rb"]
    assert found["clock"]["HealthCheck"]["Command"] == ["CMD", "/cronce/cronce", "health"]
    assert found["clock"]["DependsOn"] == [{"ContainerName": "cronce", "Condition": "SUCCESS"}]
    assert (found["cronce"]["Image"] == "cronce:1") is (guard is FOLDER)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"guard": "cronce:1", "command": ["beat"]}, "True, False or an ecs.ContainerImage"),
        ({"guard": True, "config_file": "clock.toml"}, "no guard without a command"),
    ],
)
def test_a_guard_of_a_clock_that_cannot_work_is_refused(shop: Shop, changed: dict[str, Any], said: str) -> None:
    """`cronce clock` sends to queues with botocore, which the folder does not have."""
    with pytest.raises(ConstructConfigError, match=said) as caught:
        clock(shop, **changed)
    assert caught.value.argument == "guard"


def clock(shop: Shop, **changed: Any) -> PinnedScheduler:  # noqa: ANN401  # any argument
    """A clock with some arguments changed."""
    return PinnedScheduler(shop.stack, "Clock", ledger=shop.ledger, cluster=shop.cluster, image=IMAGE, **changed)
