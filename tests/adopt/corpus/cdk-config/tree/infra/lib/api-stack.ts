import { Stack, StackProps } from 'aws-cdk-lib';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import { Construct } from 'constructs';
import { Config } from './config';

export interface ApiStackProps extends StackProps { config: Config }

export class ApiStack extends Stack {
  constructor(scope: Construct, id: string, props: ApiStackProps) {
    super(scope, id, props);
    const { config } = props;
    const cluster = new ecs.Cluster(this, 'Cluster');
    const taskDefinition = new ecs.FargateTaskDefinition(this, 'TaskDef', { cpu: config.cpu });
    taskDefinition.addContainer('api', {
      image: ecs.ContainerImage.fromAsset('../services/api'),
      logging: ecs.LogDrivers.awsLogs({ streamPrefix: 'api' }),
    });
    new ecs.FargateService(this, 'Service', { cluster, taskDefinition, desiredCount: config.taskCount });
  }
}
