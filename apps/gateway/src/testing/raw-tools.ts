import { credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { uuidv7 } from '@toolfabric/kernel';
import {
  type CallResponse,
  decodeErrorMetadata,
  ERROR_METADATA_KEY,
  ToolServiceClient,
  wireCall,
} from '@toolfabric/proto';

/** What the typed client would not let a test send. */
export interface RawCall extends Partial<Omit<wireCall.CallProposal, 'priority'>> {
  readonly args?: unknown;
  readonly priority?: number;
  readonly waitMs?: number;
}

export const metadataOf = (token: string | undefined): Metadata => {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return metadata;
};

/** The generated client itself: no retry, no conversion. */
export const rawTools = (address: string, token: string | undefined) => {
  const client = new ToolServiceClient(address, credentials.createInsecure());
  const metadata = metadataOf(token);
  return {
    client,
    metadata,
    close: () => client.close(),
    call({ args = {}, waitMs, ...fields }: RawCall, { deadlineMs = 20_000 } = {}): Promise<CallResponse> {
      const empty = wireCall.CallProposal.decode(new Uint8Array());
      const proposal = { ...empty, requestKey: uuidv7(), argumentsJson: JSON.stringify(args), ...fields };
      return new Promise((resolve, reject) => {
        client.call(
          { proposal: proposal as wireCall.CallProposal, waitMs },
          metadata,
          { deadline: Date.now() + deadlineMs },
          (error, response) => (error ? reject(error) : resolve(response)),
        );
      });
    },
    /** The status and the fabric's error of a request that fails. */
    async fails(request: () => Promise<unknown>) {
      const answer = await request().then(
        () => undefined,
        (thrown: ServiceError) => thrown,
      );
      if (answer === undefined) throw new Error('the request did not fail');
      const carried = answer.metadata?.get(ERROR_METADATA_KEY)[0];
      const error = carried instanceof Uint8Array ? decodeErrorMetadata(carried) : undefined;
      return { code: answer.code, details: answer.details, error };
    },
  };
};
