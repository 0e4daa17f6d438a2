import type { ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { compileCheck } from './compile-input.ts';
import { compileCondition } from './outcome-condition.ts';
import { isSchemaObject } from './schema-keywords.ts';

const refusal = (path: string, compile: () => unknown): string[] => {
  try {
    compile();
    return [];
  } catch (error) {
    if (error instanceof FabricError) return [`${path}: ${error.message}`];
    throw error;
  }
};

/** A list of citations in the data names the address of each. */
const citationProblems = ({ format, schema }: ToolContract['output']): string[] => {
  const properties = isSchemaObject(schema?.properties) ? schema.properties : {};
  const list = properties.citations;
  if (format !== 'citations' || list === undefined) return [];
  const items = isSchemaObject(list) && isSchemaObject(list.items) ? list.items : {};
  const fields = isSchemaObject(items.properties) ? items.properties : {};
  const isNamed = Array.isArray(items.required) && items.required.includes('url');
  const isAddress = isSchemaObject(fields.url) && fields.url.type === 'string' && fields.url.format === 'uri';
  return isNamed && isAddress
    ? []
    : ['output.schema: each of the citations needs a required url, a string of the format uri'];
};

/** What is wrong with the rules of a contract about its outcomes; each begins with the path of the field. */
export const outputProblems = ({ output }: ToolContract): string[] => {
  const { schema, success_when, error_when, format, artifacts } = output;
  return [
    ...(schema === undefined ? [] : refusal('output.schema', () => compileCheck(schema, 'output'))),
    ...(error_when === undefined ? [] : refusal('output.error_when', () => compileCondition(error_when))),
    ...(success_when === undefined ? [] : refusal('output.success_when', () => compileCondition(success_when))),
    ...citationProblems(output),
    ...(format === 'file' && artifacts !== true ? ['output.format: a file is an artifact: set output.artifacts'] : []),
  ];
};
