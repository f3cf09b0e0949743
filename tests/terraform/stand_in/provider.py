"""A stand-in for the provider hashicorp/aws: the schema of 6.62, and boto3 or nothing behind it.

`python provider.py SCHEMA SOCKET` serves until it is terminated; Terraform connects by `TF_REATTACH_PROVIDERS`. With
`STAND_IN_ACCOUNT` there is no AWS: it plans only, and IDs and ARNs that follow from the arguments are known in the
plan. Otherwise boto3 calls AWS as its environment says.

Names, types, nesting and required arguments are those of the provider. What the provider's own code validates, defaults
and reads back is not here.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped,import-not-found,unused-ignore]
import msgpack  # type: ignore[import-untyped,import-not-found,unused-ignore]
from names import known_in_advance  # type: ignore[import-not-found]  # beside this file
from tf.gen import tfplugin_pb2 as pb  # type: ignore[import-not-found]  # in the lane's environment alone
from tf.gen import tfplugin_pb2_grpc as rpc

ADDRESS = "registry.terraform.io/hashicorp/aws"

ALSO_COMPUTED = {
    "arn", "availability_zone_rebalancing", "family_revision", "function_arn", "id", "name", "policy_id", "qualifier",
    "region", "source_code_hash", "statement_id", "tags_all", "target_id", "url",
}  # fmt: skip
"""Arguments that the provider computes if they are absent, as far as the modules use or leave them."""

FORCES_REPLACEMENT = {
    "availability_zone", "cidr_block", "container_definitions", "cpu", "family", "function_name", "group_name",
    "hash_key", "memory", "name", "name_prefix", "path", "queue_url", "range_key", "role", "rule", "statement_id",
    "vpc_id",
}  # fmt: skip
REPLACED_AT_ANY_CHANGE = {"aws_ecs_task_definition", "aws_lambda_permission"}
NOT_REPLACED = {("aws_lambda_function", "role")}

DATA: Mapping[str, tuple[str, ...]] = {
    "aws_partition": ("id", "partition", "dns_suffix", "reverse_dns_prefix"),
    "aws_region": ("id", "region", "name", "description", "endpoint"),
    "aws_caller_identity": ("id", "account_id", "arn", "user_id"),
    "aws_availability_zones": ("id", "state"),
}

Values = dict[str, Any]


class Unknown:
    """A value that is known only after the apply."""


UNKNOWN = Unknown()


class Provider(rpc.ProviderServicer):  # type: ignore[misc]
    """The provider's protocol, version 6."""

    def __init__(self, schema: Mapping[str, Any], account: str | None) -> None:
        self._schema, self._account = schema, account
        self._region = os.environ.get("AWS_REGION", "eu-west-1")

    def GetMetadata(self, _request: Any, _context: Any) -> Any:
        """Every type."""
        return pb.GetMetadata.Response(
            server_capabilities=pb.ServerCapabilities(plan_destroy=False, get_provider_schema_optional=False),
            resources=[pb.GetMetadata.ResourceMetadata(type_name=name) for name in self._schema],
            data_sources=[pb.GetMetadata.DataSourceMetadata(type_name=name) for name in DATA],
        )

    def GetProviderSchema(self, _request: Any, _context: Any) -> Any:
        """The schema of every type."""
        own = [_attribute(name, "string", optional=True) for name in ("region", "access_key", "secret_key", "profile")]
        tags = pb.Schema.NestedBlock(
            type_name="default_tags",
            nesting=pb.Schema.NestedBlock.LIST,
            max_items=1,
            block=pb.Schema.Block(attributes=[_attribute("tags", ["map", "string"], optional=True)]),
        )
        answer = pb.GetProviderSchema.Response(
            provider=pb.Schema(block=pb.Schema.Block(attributes=own, block_types=[tags])),
            provider_meta=pb.Schema(block=pb.Schema.Block()),
        )
        for name, schema in self._schema.items():
            answer.resource_schemas[name].CopyFrom(pb.Schema(version=0, block=_block(schema)))
        for name, attributes in DATA.items():
            block = pb.Schema.Block(
                attributes=[_attribute(each, "string", computed=True, optional=each != "id") for each in attributes]
            )
            if name == "aws_availability_zones":
                block.attributes.append(_attribute("names", ["list", "string"], computed=True))
            answer.data_source_schemas[name].CopyFrom(pb.Schema(version=0, block=block))
        return answer

    def ValidateProviderConfig(self, _request: Any, _context: Any) -> Any:
        """Accept it."""
        return pb.ValidateProviderConfig.Response()

    def ConfigureProvider(self, request: Any, _context: Any) -> Any:
        """Take the Region."""
        self._region = (_decoded(request.config) or {}).get("region") or self._region
        return pb.ConfigureProvider.Response()

    def ValidateResourceConfig(self, _request: Any, _context: Any) -> Any:
        """Accept it: Terraform's core has checked it against the schema."""
        return pb.ValidateResourceConfig.Response()

    def ValidateDataResourceConfig(self, _request: Any, _context: Any) -> Any:
        """Accept it."""
        return pb.ValidateDataResourceConfig.Response()

    def UpgradeResourceState(self, request: Any, _context: Any) -> Any:
        """Return the state as it is."""
        return pb.UpgradeResourceState.Response(upgraded_state=_encoded(json.loads(request.raw_state.json)))

    def GetResourceIdentitySchemas(self, _request: Any, _context: Any) -> Any:
        """There are none."""
        return pb.GetResourceIdentitySchemas.Response()

    def ReadResource(self, request: Any, _context: Any) -> Any:
        """Return the state as AWS has it, as far as `resources.py` reads that type."""
        state = _decoded(request.current_state)
        if self._account is None and state is not None:
            from resources import RESOURCES  # type: ignore[import-not-found]  # noqa: PLC0415  # boto3

            state = RESOURCES[request.type_name].read(state)
        return pb.ReadResource.Response(new_state=_encoded(state), private=request.private)

    def PlanResourceChange(self, request: Any, _context: Any) -> Any:
        """Return the planned state, with what is known only afterwards."""
        prior, new = _decoded(request.prior_state), _decoded(request.proposed_new_state)
        answer = pb.PlanResourceChange.Response(planned_private=request.prior_private)
        if new is None:
            answer.planned_state.CopyFrom(request.proposed_new_state)
            return answer
        kind, attributes = request.type_name, self._schema[request.type_name]["attributes"]
        if "region" in attributes and new.get("region") in (None, UNKNOWN):
            new["region"] = self._region
        if "tags_all" in attributes:
            new["tags_all"] = new.get("tags") or {}
        if prior is None:
            advance = known_in_advance(kind, new, account=self._account) if self._account else {}
            for name, attribute in attributes.items():
                if _is_computed(name, attribute) and new.get(name) is None:
                    new[name] = advance.get(name, UNKNOWN)
        else:
            changed = [name for name in attributes if new.get(name) != prior.get(name) and name != "tags_all"]
            for name in changed:
                forced = name in FORCES_REPLACEMENT or (kind in REPLACED_AT_ANY_CHANGE and name != "tags")
                if forced and (kind, name) not in NOT_REPLACED and name not in ("arn", "id"):
                    step = pb.AttributePath.Step(attribute_name=name)
                    answer.requires_replace.append(pb.AttributePath(steps=[step]))
        answer.planned_state.CopyFrom(_encoded(new))
        return answer

    def ApplyResourceChange(self, request: Any, _context: Any) -> Any:
        """Create, update or delete it in AWS."""
        from resources import RESOURCES  # noqa: PLC0415  # boto3

        prior, new = _decoded(request.prior_state), _decoded(request.planned_state)
        answer = pb.ApplyResourceChange.Response()
        resource = RESOURCES[request.type_name]
        try:
            if new is None:
                resource.delete(prior)
                answer.new_state.CopyFrom(_encoded(None))
                return answer
            given = {name: None if isinstance(value, Unknown) else value for name, value in new.items()}
            made = resource.create(given) if prior is None else resource.update(given, prior)
            final = {name: made.get(name, given[name]) for name in new}
            answer.new_state.CopyFrom(_encoded(final))
        except Exception as error:  # noqa: BLE001  # Terraform reports it with the resource
            told = f"{request.type_name}: {type(error).__name__}: {error}"
            answer.diagnostics.append(pb.Diagnostic(severity=pb.Diagnostic.ERROR, summary=told))
            answer.new_state.CopyFrom(request.prior_state)
        return answer

    def ReadDataSource(self, request: Any, _context: Any) -> Any:
        """Return who and where this is."""
        region = (_decoded(request.config) or {}).get("region") or self._region
        values: Values
        match request.type_name:
            case "aws_partition":
                values = {
                    "id": "aws",
                    "partition": "aws",
                    "dns_suffix": "amazonaws.com",
                    "reverse_dns_prefix": "com.amazonaws",
                }
            case "aws_region":
                values = {"id": region, "region": region, "name": region, "description": "", "endpoint": ""}
            case "aws_availability_zones":
                values = {"id": region, "state": None, "names": [f"{region}{zone}" for zone in "abc"]}
            case _:
                account = self._account or _account()
                values = {"id": account, "account_id": account, "arn": f"arn:aws:iam::{account}:root"}
                values["user_id"] = account
        return pb.ReadDataSource.Response(state=_encoded(values))

    def StopProvider(self, _request: Any, _context: Any) -> Any:
        """Do nothing."""
        return pb.StopProvider.Response()

    def GetFunctions(self, _request: Any, _context: Any) -> Any:
        """There are none."""
        return pb.GetFunctions.Response()


def _account() -> str:
    from calls import aws  # type: ignore[import-not-found]  # noqa: PLC0415  # boto3

    return str(aws("sts").get_caller_identity()["Account"])


def _is_computed(name: str, attribute: Mapping[str, Any]) -> bool:
    return bool(attribute.get("computed") or (name in ALSO_COMPUTED and not attribute.get("required")))


def _attribute(name: str, kind: object, **flags: bool) -> Any:
    return pb.Schema.Attribute(name=name, type=json.dumps(kind).encode(), **flags)


def _block(schema: Mapping[str, Any], *, top: bool = True) -> Any:
    block = pb.Schema.Block()
    for name, attribute in sorted(schema["attributes"].items()):
        required = bool(attribute.get("required"))
        computed = _is_computed(name, attribute) if top else bool(attribute.get("computed"))
        optional = bool(attribute.get("optional"))
        block.attributes.append(
            _attribute(name, attribute["type"], required=required, optional=optional, computed=computed)
        )
    for name, inner in sorted(schema["block_types"].items()):
        block.block_types.append(
            pb.Schema.NestedBlock(
                type_name=name,
                nesting=getattr(pb.Schema.NestedBlock, inner["nesting"].upper()),
                min_items=inner["least"],
                max_items=inner["most"],
                block=_block(inner["block"], top=False),
            )
        )
    return block


def _decoded(value: Any) -> Any:
    if value.msgpack:
        return msgpack.unpackb(value.msgpack, ext_hook=lambda _code, _data: UNKNOWN, strict_map_key=False)
    return json.loads(value.json) if value.json else None


def _encoded(value: Any) -> Any:
    def unknown(each: object) -> object:
        if isinstance(each, Unknown):
            return msgpack.ExtType(0, b"\0")
        raise TypeError(each)

    return pb.DynamicValue(msgpack=msgpack.packb(value, default=unknown))


def main(schema: Path, socket: str) -> None:
    """Serve until SIGTERM."""
    limit = 64 * 1024 * 1024
    options = [("grpc.max_send_message_length", limit), ("grpc.max_receive_message_length", limit)]
    server = grpc.server(futures.ThreadPoolExecutor(16), options=options)
    provider = Provider(json.loads(schema.read_text()), os.environ.get("STAND_IN_ACCOUNT"))
    rpc.add_ProviderServicer_to_server(provider, server)
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    address = {"Network": "unix", "String": socket}
    told = {"Protocol": "grpc", "ProtocolVersion": 6, "Pid": os.getpid(), "Test": True, "Addr": address}
    sys.stdout.write(json.dumps({ADDRESS: told}) + "\n")
    sys.stdout.flush()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    ended.wait()
    server.stop(None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
