import * as cdk from 'aws-cdk-lib';
import * as ecs from 'aws-cdk-lib/aws-ecs';

const app = new cdk.App();
const stack = new cdk.Stack(app, 'Svc');
const cluster = new ecs.Cluster(stack, 'Cluster');
const image = ecs.ContainerImage.fromAsset('../app');

const webTask = new ecs.FargateTaskDefinition(stack, 'WebTask');
webTask.addContainer('web', { image, environment: { ENABLE_JOBS: '0' } });
new ecs.FargateService(stack, 'Web', { cluster, taskDefinition: webTask, desiredCount: 4 });

const jobTask = new ecs.FargateTaskDefinition(stack, 'JobTask');
jobTask.addContainer('jobs', { image, environment: { ENABLE_JOBS: '1' } });
new ecs.FargateService(stack, 'Jobs', { cluster, taskDefinition: jobTask, desiredCount: 1 });
