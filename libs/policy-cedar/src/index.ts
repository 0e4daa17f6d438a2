export { CaseFile, type PolicyCase } from './case-file.ts';
export { type CedarPolicyOptions, createCedarPolicy } from './cedar-policy.ts';
export { checkPolicies } from './check-policies.ts';
export * from './policy-files.ts';
export * from './replay.ts';
export type { PolicyProblem } from './rules.ts';
export * from './test-policies.ts';
