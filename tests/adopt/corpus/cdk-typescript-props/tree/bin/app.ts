import * as cdk from 'aws-cdk-lib';
import { ShopStack } from '../lib/shop-stack';

const app = new cdk.App();
new ShopStack(app, 'Shop', { desiredCount: 3 });
