/** Where a part of a resource may begin: `github:repo:shop/checkout` holds `…/checkout#4821`, never `…/checkout-2`. */
const BORDERS = ':/#';

/** Whether `resource` is `scope` itself or a part of it. A call without a resource lies in no scope. */
export const isInScope = (resource: string | undefined, scope: string): boolean => {
  if (resource === undefined || scope === '' || !resource.startsWith(scope)) return false;
  const next = resource[scope.length];
  return next === undefined || BORDERS.includes(next) || BORDERS.includes(scope.at(-1) ?? '');
};
