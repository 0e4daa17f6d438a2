import { stringify } from 'yaml';

/** A value as YAML that a person can read and change; without anchors, which `parseYaml` would refuse. */
export const writeYaml = (value: unknown): string => stringify(value, { lineWidth: 110, aliasDuplicateObjects: false });
