import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs

app = cdk.App()
stack = cdk.Stack(app, "Shop")
task = ecs.FargateTaskDefinition(stack, "Task")
task.add_container("app", image=ecs.ContainerImage.from_registry("shop"), command=["celery", "-A", "shop", "worker", "-B"])
ecs.FargateService(stack, "Worker", cluster=ecs.Cluster(stack, "C"), task_definition=task, desired_count=app.node.try_get_context("copies"))
