import * as ecs from 'aws-cdk-lib/aws-ecs';

const task = new ecs.FargateTaskDefinition(this, 'Task');
task.addContainer('web', {
  image: ecs.ContainerImage.fromAsset('web'),
  command: ['node', 'dist/main.js'],
});
const service = new ecs.FargateService(this, 'Web', {
  cluster,
  taskDefinition: task,
  desiredCount: 1,
});
service.autoScaleTaskCount({ minCapacity: 1, maxCapacity: 6 });
