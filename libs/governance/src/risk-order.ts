import { RiskGroup } from '@toolfabric/contract';

/** From 0 for a read to 4 for what is privileged. */
export const riskLevel = (risk: RiskGroup): number => RiskGroup.options.indexOf(risk);

export const higherRisk = (a: RiskGroup, b: RiskGroup): RiskGroup => (riskLevel(a) >= riskLevel(b) ? a : b);
