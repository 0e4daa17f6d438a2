import type { RegistryRecord } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { NamedTool, ToolIndex } from './tool-index.ts';

export interface ResolveOptions {
  /** Looks among the contracts that only the fabric itself may call. */
  readonly internal?: boolean;
  /** Names for which it answers false are never suggested to this caller. */
  readonly visible?: (record: RegistryRecord) => boolean;
}

/** What the caller typed, safe to show: printable, quoted, short. */
const quoted = (text: string): string => JSON.stringify(text.replace(/[^\x20-\x7e]/g, '?').slice(0, 80));

const unknownTool = (index: ToolIndex, name: string, { visible = () => true }: ResolveOptions): FabricError => {
  const near = index.suggest(name).filter((candidate) => {
    const current = index.tools.get(candidate)?.current;
    return current !== undefined && visible(current);
  });
  const message = `no published tool is named ${quoted(name)}`;
  if (near.length === 0) return new FabricError('unknown_tool', message);
  return new FabricError('unknown_tool', message, {
    hint: `Did you mean ${near.join(' or ')}? Otherwise list the tools.`,
  });
};

const versionsHint = (tool: NamedTool): string =>
  tool.callable.length === 0
    ? 'No version of it can be called any more; list the tools.'
    : `Leave the version out, or use one of: ${tool.callable.join(', ')}.`;

const resolveCurrent = (name: string, tool: NamedTool): RegistryRecord => {
  if (tool.current !== undefined) return tool.current;
  throw new FabricError('tool_retired', `every version of ${name} was retired`, { hint: versionsHint(tool) });
};

const resolveVersion = (name: string, version: string, tool: NamedTool): RegistryRecord => {
  const record = tool.versions.get(version);
  const hint = versionsHint(tool);
  if (record === undefined)
    throw new FabricError('unknown_version', `${name} has no version ${quoted(version)}`, { hint });
  if (record.state === 'retired') throw new FabricError('tool_retired', `${name}@${version} was retired`, { hint });
  return record;
};

/**
 * The record that `tool` or `tool@version` means. Without a version it is the highest published one; a deprecated one
 * only when it is named, or when nothing else can be called. Two look-ups, however many tools there are.
 *
 * Throws `unknown_tool` (nearest names as the hint), `unknown_version` (known versions as the hint) or `tool_retired`.
 */
export const resolveTool = (index: ToolIndex, reference: string, options: ResolveOptions = {}): RegistryRecord => {
  const at = reference.indexOf('@');
  const name = at === -1 ? reference : reference.slice(0, at);
  const tool = (options.internal ? index.internalTools : index.tools).get(name);
  if (tool === undefined) throw unknownTool(index, name, options);
  return at === -1 ? resolveCurrent(name, tool) : resolveVersion(name, reference.slice(at + 1), tool);
};
