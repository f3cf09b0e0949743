"""The schema of hashicorp/aws 6.62.0, read from bindings that were generated from it.

For each resource type: the names, types and nesting of its arguments come from the method `synthesizeHclAttributes` and
the functions `...ToHclTerraform`, which arguments are required from the `.d.ts`, and which attributes are computed from
the getters. The bindings do not say which arguments are computed as well; `provider.py` knows those that matter here.

`python schema.py WHEEL FILE` writes the schema as JSON.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

TYPES = (
    "aws_cloudwatch_event_api_destination",
    "aws_cloudwatch_event_rule",
    "aws_cloudwatch_event_target",
    "aws_cloudwatch_log_group",
    "aws_cloudwatch_metric_alarm",
    "aws_dynamodb_table",
    "aws_ecs_cluster",
    "aws_ecs_service",
    "aws_ecs_task_definition",
    "aws_iam_role",
    "aws_iam_role_policy",
    "aws_internet_gateway",
    "aws_lambda_event_source_mapping",
    "aws_lambda_function",
    "aws_lambda_function_event_invoke_config",
    "aws_lambda_permission",
    "aws_route",
    "aws_route_table",
    "aws_route_table_association",
    "aws_scheduler_schedule",
    "aws_scheduler_schedule_group",
    "aws_security_group",
    "aws_sns_topic",
    "aws_sns_topic_policy",
    "aws_sns_topic_subscription",
    "aws_sqs_queue",
    "aws_sqs_queue_policy",
    "aws_subnet",
    "aws_vpc",
    "aws_vpc_security_group_egress_rule",
)

_ARGUMENT = (
    r"\n{indent}(?P<name>\w+): {{\s*value: (?P<value>.*?),\s*isBlock: (?P<block>true|false),"
    r'\s*type: "(?P<kind>\w+)",\s*storageClassType: "(?P<storage>[^"]+)",\s*}}'
)
_OF_RESOURCE, _OF_BLOCK = (re.compile(_ARGUMENT.format(indent=" " * width), re.DOTALL) for width in (12, 8))
_GETTER = re.compile(
    r"get \w+\(\) \{\s*return this\.get(String|Number|Boolean|List|StringMap|NumberMap|BooleanMap|NumberList)"
    r"Attribute\('(\w+)'\)"
)
_GETTER_OF_SET = re.compile(r"get \w+\(\) \{\s*return cdktn\.Fn\.tolist\(this\.getListAttribute\('(\w+)'\)\)")
_PRIMITIVE = {"string": "string", "number": "number", "boolean": "bool", "any": "dynamic"}
_COMPUTED = {"String": "string", "Number": "number", "Boolean": "bool", "List": ["list", "string"]}
_COMPUTED["StringMap"] = ["map", "string"]

Block = dict[str, dict[str, Any]]


def read(wheel: Path) -> dict[str, Block]:
    """Return the schema of each type."""
    wanted = {f"/{name.replace('_', '-')}{suffix}" for name in TYPES for suffix in (".js", ".d.ts")}
    found: dict[str, str] = {}
    with zipfile.ZipFile(wheel) as archive:
        [packed] = [name for name in archive.namelist() if name.endswith(".jsii.tgz")]
        with tarfile.open(fileobj=io.BytesIO(archive.read(packed))) as tar:
            for member in tar:
                name = member.name[member.name.rfind("/") :]
                if name in wanted and (content := tar.extractfile(member)):
                    found[name] = content.read().decode()
    return {
        name: _resource(found[f"/{name.replace('_', '-')}.js"], found[f"/{name.replace('_', '-')}.d.ts"])
        for name in TYPES
    }


def _resource(script: str, declarations: str) -> Block:
    head, _, rest = script.partition("synthesizeHclAttributes() {")
    name = re.findall(r"class (\w+) extends", head)[-1]
    block = _block(script, declarations, rest.partition("\n    }")[0], _OF_RESOURCE, f"{name}Config")
    own = head[head.rindex(f"class {name} extends") :]
    for kind, attribute in _GETTER.findall(own):
        computed = {"type": _COMPUTED.get(kind, "dynamic"), "computed": True}
        if attribute not in block["block_types"]:
            block["attributes"].setdefault(attribute, computed)
    for attribute in _GETTER_OF_SET.findall(own):
        block["attributes"].setdefault(attribute, {"type": ["set", "string"], "computed": True})
    return block


def _block(script: str, declarations: str, body: str, arguments: re.Pattern[str], interface: str) -> Block:
    required = _required(declarations, interface)
    block: Block = {"attributes": {}, "block_types": {}}
    for found in arguments.finditer(body):
        name, kind, storage = found["name"], found["kind"], found["storage"]
        if found["block"] == "false":
            block["attributes"][name] = {
                "type": _type(kind, storage),
                ("required" if name in required else "optional"): True,
            }
            continue
        function = re.search(r"(\w+PropertyToHclTerraform)", found["value"])
        inner = re.search(rf"function {function[1]}\(struct\) \{{(.*?)\n\}}", script, re.DOTALL) if function else None
        assert inner, f"no function for the block {name}"
        one = kind == "struct"
        block["block_types"][name] = {
            "nesting": "single" if one else kind,
            "least": 1 if name in required else 0,
            "most": 0 if one or "listMapper" in found["value"] else 1,
            "block": _block(script, declarations, inner[1], _OF_BLOCK, storage.removesuffix("List").split(".")[-1]),
        }
    return block


def _required(declarations: str, interface: str) -> set[str]:
    """Return the Terraform names of the members without a question mark."""
    names = (interface, f"{interface}Property")
    for name in names:
        body = re.search(rf"interface {re.escape(name)}\b[^{{]*\{{(.*?)\n\s*\}}\n", declarations, re.DOTALL)
        if body:
            members = re.findall(r"/\*\*(.*?)\*/\s*readonly \w+(\??):", body[1], re.DOTALL)
            links = ((re.search(r"#(\w+)", text), optional) for text, optional in members)
            return {link[1] for link, optional in links if link and not optional}
    return set()


def _type(kind: str, storage: str) -> object:
    if kind == "simple":
        return _PRIMITIVE[storage]
    element = re.match(r"string|number|boolean|any", storage)
    return [kind, _PRIMITIVE[element[0]]] if element else "dynamic"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(read(Path(sys.argv[1]))))
