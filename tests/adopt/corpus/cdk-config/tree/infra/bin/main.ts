import { App } from 'aws-cdk-lib';
import { ApiStack } from '../lib/api-stack';
import { prod } from '../lib/config';

const app = new App();
new ApiStack(app, 'Api-prod', { config: prod });
