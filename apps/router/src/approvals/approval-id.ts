import { sha256Hex } from '@toolfabric/kernel';

/** Follows from the call, so that whoever knows the one finds the other. */
export const approvalIdFor = (callId: string): string => sha256Hex(`approval\n${callId}`).slice(0, 32);
