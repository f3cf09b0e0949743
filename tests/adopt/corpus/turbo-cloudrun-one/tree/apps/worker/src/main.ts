import { NestFactory } from '@nestjs/core';
import { WorkerModule } from './worker.module';

NestFactory.createApplicationContext(WorkerModule);
