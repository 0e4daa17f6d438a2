import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';

/** Stands for a message that is no protobuf of its type. */
const UNREADABLE = Object.freeze({});

export const isUnreadable = (request: unknown): boolean => request === UNREADABLE;

/**
 * The same service, but with a message that cannot be read handed to the verb, where it gets the fabric's typed error;
 * the gRPC layer alone would answer `INTERNAL`.
 */
export const withReadableRequests = <T extends ServiceDefinition<UntypedServiceImplementation>>(service: T): T =>
  Object.fromEntries(
    Object.entries(service).map(([name, method]) => [
      name,
      {
        ...method,
        requestDeserialize(bytes: Buffer) {
          try {
            return method.requestDeserialize(bytes);
          } catch {
            return UNREADABLE;
          }
        },
      },
    ]),
  ) as T;
