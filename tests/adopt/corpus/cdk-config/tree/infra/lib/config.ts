export interface Config { stage: string; taskCount: number; cpu: number }
export const prod: Config = { stage: 'prod', taskCount: 3, cpu: 1024 };
