export { type CedarPolicyOptions, createCedarPolicy } from './cedar-policy.ts';
export { checkPolicies } from './check-policies.ts';
export * from './policy-files.ts';
export type { PolicyProblem } from './rules.ts';
