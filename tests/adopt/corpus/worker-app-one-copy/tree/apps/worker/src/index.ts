import { startAll } from '@acme/jobs';

await startAll();
