import { ArtifactPermit, CLOCK_LEEWAY_MS, Envelope, PERMIT_TYPE } from '@toolfabric/contract';
import { type Clock, FabricError, type Verifier } from '@toolfabric/kernel';

const SCHEME = /^Permit ([A-Za-z0-9_-]{1,12000})$/;

const unauthenticated = (message: string): FabricError =>
  new FabricError('unauthenticated', message, {
    hint: 'Send `authorization: Permit <permit>` as the router signed it.',
  });

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * The permit of a request. Throws `unauthenticated` when it is not one that a router signed, `forbidden` when it has
 * expired. The same permit may come any number of times: everything it allows is harmless to repeat.
 */
export const checkPermit = (header: string | undefined, verifier: Verifier, clock: Clock): ArtifactPermit => {
  const encoded = SCHEME.exec(header ?? '')?.[1];
  if (encoded === undefined) throw unauthenticated('the request has no permit');
  const envelope = Envelope.safeParse(parseJson(Buffer.from(encoded, 'base64url').toString('utf8')));
  const body = envelope.success ? verifier.open(envelope.data, PERMIT_TYPE, 'router') : undefined;
  const permit = ArtifactPermit.safeParse(body === undefined ? undefined : parseJson(body));
  if (!permit.success) throw unauthenticated('the permit is not signed by a router');
  if (permit.data.expires + CLOCK_LEEWAY_MS < clock.now()) throw new FabricError('forbidden', 'the permit has expired');
  return permit.data;
};

/** Throws `forbidden` for a permit of another action. */
export const permitFor = <A extends ArtifactPermit['action']>(
  permit: ArtifactPermit,
  ...actions: readonly A[]
): Extract<ArtifactPermit, { action: A }> => {
  if (!actions.some((action) => action === permit.action)) {
    throw new FabricError('forbidden', `a permit to ${permit.action} does not allow this`);
  }
  return permit as Extract<ArtifactPermit, { action: A }>;
};

/** A permit of the front door names one artifact. */
export const checkNamed = (permit: ArtifactPermit, id: string): void => {
  if ('artifactId' in permit && permit.artifactId !== id) {
    throw new FabricError('forbidden', 'the permit is for another artifact');
  }
};
