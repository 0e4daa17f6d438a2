const NODE_MAJOR = 24;

/** Why this version of Node cannot run a service, or undefined when it can. */
export const nodeRefusal = (version: string): string | undefined =>
  Number.parseInt(version, 10) === NODE_MAJOR
    ? undefined
    : `this is Node ${version}, and every service runs on Node ${NODE_MAJOR}: start it with node_modules/.bin/node, which is that version`;
