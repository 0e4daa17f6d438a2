export * from './running-service.ts';
