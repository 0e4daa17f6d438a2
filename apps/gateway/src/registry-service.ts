import { depthOf, FabricError, type Pace } from '@toolfabric/kernel';
import { type RegistryServiceServer, toolSummaryToWire } from '@toolfabric/proto';
import type { FrontDoor } from './front-door.ts';
import { invalidField } from './invalid-request.ts';
import { patienceOf, type RequestContext } from './request-context.ts';
import type { RouterClient } from './router-client.ts';

/** A contract travels in one message of the bus. */
const CONTRACT_BYTES = 56 * 1024;
const CONTRACT_DEPTH = 64;

export const createRegistryService = (door: FrontDoor, router: RouterClient, pace: Pace): RegistryServiceServer => {
  const patience = patienceOf(pace);
  const move =
    (to: 'published' | 'deprecated' | 'retired') =>
    async ({ name, version }: { name: string; version: string }, context: RequestContext) => {
      const { actor, rights } = context.identity;
      const request = { actor, rights: [...rights], name, version, to };
      return { tool: toolSummaryToWire(await router.ask('moveTool', request, patience(context))) };
    };
  return {
    putDraft: door.unary(async ({ contractJson }, context) => {
      const { actor, rights } = context.identity;
      const request = { actor, rights: [...rights], contract: readContract(contractJson) };
      return { tool: toolSummaryToWire(await router.ask('putDraft', request, patience(context))) };
    }),
    publishTool: door.unary(move('published')),
    deprecateTool: door.unary(move('deprecated')),
    retireTool: door.unary(move('retired')),
  };
};

const readContract = (text: string) => {
  if (Buffer.byteLength(text) > CONTRACT_BYTES) {
    throw new FabricError('too_large', `a contract takes at most ${CONTRACT_BYTES} bytes`);
  }
  const contract = parseJson(text);
  if (depthOf(contract, CONTRACT_DEPTH) > CONTRACT_DEPTH) {
    throw new FabricError('too_deep', `a contract is nested at most ${CONTRACT_DEPTH} levels deep`);
  }
  return contract;
};

const parseJson = (text: string) => {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidField('contract_json', 'JSON');
  }
};
