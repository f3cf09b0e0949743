import * as cdk from 'aws-cdk-lib';
import * as ecs from 'aws-cdk-lib/aws-ecs';

const app = new cdk.App();
const stack = new cdk.Stack(app, 'Shop');
const task = new ecs.FargateTaskDefinition(stack, 'Task');
task.addContainer('worker', {
  image: ecs.ContainerImage.fromRegistry('registry.example.com/shop/app'),
  command: ['celery', '--app', 'shop', 'worker', '-B'],
});
const workers = Number(app.node.tryGetContext('workers') ?? 2);
new ecs.FargateService(stack, 'Worker', {
  cluster: new ecs.Cluster(stack, 'Cluster'),
  taskDefinition: task,
  desiredCount: workers,
});
