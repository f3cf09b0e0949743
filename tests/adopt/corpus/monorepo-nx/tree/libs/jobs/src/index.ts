export * from './lib/digest.service';
