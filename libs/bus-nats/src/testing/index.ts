export * from './free-port.ts';
export * from './raw-user.ts';
export * from './server-version.ts';
export * from './temporary-server.ts';
export * from './wait-for.ts';
