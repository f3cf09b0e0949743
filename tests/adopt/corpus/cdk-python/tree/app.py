from aws_cdk import Stack, aws_ecs as ecs, aws_ecs_patterns as patterns


class Shop(Stack):
    def __init__(self, scope, construct_id):
        super().__init__(scope, construct_id)
        patterns.ApplicationLoadBalancedFargateService(
            self,
            "Web",
            desired_count=3,
            task_image_options=patterns.ApplicationLoadBalancedTaskImageOptions(
                image=ecs.ContainerImage.from_asset("web"),
            ),
        )
