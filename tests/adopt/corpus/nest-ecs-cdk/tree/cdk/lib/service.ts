import * as cdk from 'aws-cdk-lib';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import * as patterns from 'aws-cdk-lib/aws-ecs-patterns';

export class ServiceStack extends cdk.Stack {
  constructor(scope: cdk.App, id: string) {
    super(scope, id);
    const service = new patterns.ApplicationLoadBalancedFargateService(this, 'Svc', {
      taskImageOptions: { image: ecs.ContainerImage.fromAsset('..') },
    });
    const scaling = service.service.autoScaleTaskCount({ minCapacity: 1, maxCapacity: 4 });
    scaling.scaleOnCpuUtilization('Cpu', { targetUtilizationPercent: 50 });
  }
}
