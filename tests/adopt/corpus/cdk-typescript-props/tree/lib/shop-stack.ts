import * as cdk from 'aws-cdk-lib';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import { Construct } from 'constructs';

interface ShopProps extends cdk.StackProps {
  desiredCount: number;
}

export class ShopStack extends cdk.Stack {
  constructor(scope: Construct, id: string, props: ShopProps) {
    super(scope, id, props);
    const cluster = new ecs.Cluster(this, 'Cluster');
    const task = new ecs.FargateTaskDefinition(this, 'Task');
    task.addContainer('worker', {
      image: ecs.ContainerImage.fromAsset('./service'),
      command: ['celery', '--app', 'shop', 'worker', '--beat'],
    });
    new ecs.FargateService(this, 'Worker', {
      cluster,
      taskDefinition: task,
      desiredCount: props.desiredCount,
    });
  }
}
