import { start } from './jobs';
start();
