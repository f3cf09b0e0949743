import { BatchV1Api, V1CronJob as CronJob } from '@kubernetes/client-node';

export function create(api: BatchV1Api) {
  return api.createNamespacedCronJob('default', new CronJob());
}
