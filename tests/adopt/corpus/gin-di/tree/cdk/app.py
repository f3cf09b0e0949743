import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs

COUNT = 3
app = cdk.App()
stack = cdk.Stack(app, "Gin")
cluster = ecs.Cluster(stack, "C")
task = ecs.FargateTaskDefinition(stack, "T")
task.add_container("app", image=ecs.ContainerImage.from_asset(".."))
ecs.FargateService(stack, "S", cluster=cluster, task_definition=task, desired_count=COUNT)
