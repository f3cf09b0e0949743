import * as cdk from 'aws-cdk-lib';
import { AcmeStack } from '../lib/acme-stack';

new AcmeStack(new cdk.App(), 'Acme');
