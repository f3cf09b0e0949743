"""What the provider does in AWS for clusters, tasks, services and their network."""

from __future__ import annotations

import json
import time

from calls import Values, aws, one, only  # type: ignore[import-not-found]  # beside this file


def create_cluster(values: Values) -> Values:
    """CreateCluster."""
    arn = aws("ecs").create_cluster(clusterName=values["name"])["cluster"]["clusterArn"]
    return {"id": arn, "arn": arn}


def register(values: Values) -> Values:
    """RegisterTaskDefinition."""
    registered = aws("ecs").register_task_definition(
        family=values["family"],
        containerDefinitions=json.loads(values["container_definitions"]),
        taskRoleArn=values["task_role_arn"],
        executionRoleArn=values["execution_role_arn"],
        networkMode=values["network_mode"],
        cpu=values["cpu"],
        memory=values["memory"],
        requiresCompatibilities=values["requires_compatibilities"],
        volumes=[{"name": volume["name"]} for volume in values["volume"]],
    )["taskDefinition"]
    arn = registered["taskDefinitionArn"]
    return {
        "id": values["family"],
        "arn": arn,
        "revision": registered["revision"],
        "arn_without_revision": arn.rpartition(":")[0],
    }


def deregister(values: Values) -> None:
    """DeregisterTaskDefinition, unless the resource wants to keep it."""
    if not values["skip_destroy"]:
        aws("ecs").deregister_task_definition(taskDefinition=values["arn"])


def create_service(values: Values) -> Values:
    """CreateService."""
    network = one(values["network_configuration"])
    made = aws("ecs").create_service(
        serviceName=values["name"],
        launchType=values["launch_type"],
        networkConfiguration={
            "awsvpcConfiguration": {
                "subnets": network["subnets"],
                "securityGroups": network["security_groups"],
                "assignPublicIp": "ENABLED" if network["assign_public_ip"] else "DISABLED",
            }
        },
        deploymentConfiguration={
            "minimumHealthyPercent": int(values["deployment_minimum_healthy_percent"]),
            "maximumPercent": int(values["deployment_maximum_percent"]),
        },
        **_wanted(values),
    )["service"]
    return {"id": made["serviceArn"], "arn": made["serviceArn"]}


def update_service(values: Values, prior: Values) -> Values:
    """UpdateService: count and task definition."""
    only(values, prior, "desired_count", "task_definition")
    aws("ecs").update_service(service=values["name"], **_wanted(values))
    return {}


def _wanted(values: Values) -> dict[str, object]:
    count = int(values["desired_count"])
    return {"cluster": values["cluster"], "taskDefinition": values["task_definition"], "desiredCount": count}


def read_service(values: Values) -> Values:
    """What people change by hand."""
    [service] = aws("ecs").describe_services(cluster=values["cluster"], services=[values["name"]])["services"]
    return values | {"desired_count": service["desiredCount"], "task_definition": service["taskDefinition"]}


def delete_service(values: Values) -> None:
    """Wait for its tasks, as the provider does: they stop while their role still has its policies."""
    service = {"cluster": values["cluster"], "service": values["name"]}
    aws("ecs").update_service(**service, desiredCount=0)
    aws("ecs").delete_service(**service, force=True)
    deadline = time.monotonic() + 60
    while aws("ecs").list_tasks(cluster=values["cluster"], serviceName=values["name"])["taskArns"]:
        if time.monotonic() > deadline:
            message = f"the tasks of {values['name']} do not stop"
            raise TimeoutError(message)
        time.sleep(0.2)


def create_vpc(values: Values) -> Values:
    """CreateVpc."""
    made = aws("ec2").create_vpc(CidrBlock=values["cidr_block"])["Vpc"]["VpcId"]
    return {"id": made}


def create_gateway(values: Values) -> Values:
    """CreateInternetGateway, attached."""
    made = aws("ec2").create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    aws("ec2").attach_internet_gateway(InternetGatewayId=made, VpcId=values["vpc_id"])
    return {"id": made}


def delete_gateway(values: Values) -> None:
    """DeleteInternetGateway, detached."""
    aws("ec2").detach_internet_gateway(InternetGatewayId=values["id"], VpcId=values["vpc_id"])
    aws("ec2").delete_internet_gateway(InternetGatewayId=values["id"])


def create_subnet(values: Values) -> Values:
    """CreateSubnet."""
    where = {name: values[value] for name, value in {"VpcId": "vpc_id", "CidrBlock": "cidr_block"}.items()}
    made = aws("ec2").create_subnet(**where, AvailabilityZone=values["availability_zone"])
    return {"id": made["Subnet"]["SubnetId"]}


def create_route_table(values: Values) -> Values:
    """CreateRouteTable."""
    return {"id": aws("ec2").create_route_table(VpcId=values["vpc_id"])["RouteTable"]["RouteTableId"]}


def create_route(values: Values) -> Values:
    """CreateRoute."""
    table, block = values["route_table_id"], values["destination_cidr_block"]
    aws("ec2").create_route(RouteTableId=table, DestinationCidrBlock=block, GatewayId=values["gateway_id"])
    return {"id": f"r-{table}{block}"}


def associate(values: Values) -> Values:
    """AssociateRouteTable."""
    made = aws("ec2").associate_route_table(SubnetId=values["subnet_id"], RouteTableId=values["route_table_id"])
    return {"id": made["AssociationId"]}


def create_security_group(values: Values) -> Values:
    """CreateSecurityGroup."""
    made = aws("ec2").create_security_group(
        GroupName=values["name"], Description=values["description"], VpcId=values["vpc_id"]
    )
    return {"id": made["GroupId"]}
