from aws_cdk import Stack, aws_ecs as ecs
from constructs import Construct


class ApiStack(Stack):
    def __init__(self, scope: Construct, construct_id: str, **kwargs) -> None:
        super().__init__(scope, construct_id, **kwargs)
        cluster = ecs.Cluster(self, "Cluster")
        task = ecs.FargateTaskDefinition(self, "Task", cpu=256, memory_limit_mib=512)
        task.add_container("api", image=ecs.ContainerImage.from_asset("../server"))
        service = ecs.FargateService(self, "Service", cluster=cluster, task_definition=task)
        scaling = service.auto_scale_task_count(min_capacity=2, max_capacity=6)
        scaling.scale_on_cpu_utilization("Cpu", target_utilization_percent=60)
