import type { ApprovalRecord } from '@toolfabric/contract';
import type { RouterContext } from '../router-context.ts';

/**
 * What leaves the router about an approval (RS-5): arguments may have brought a secret into its resource or into the
 * names of its files. What is stored stays as it is, since a yes is bound to it and rights reach by it.
 */
export const tellApproval = ({ hideFor }: Pick<RouterContext, 'hideFor'>, approval: ApprovalRecord): ApprovalRecord => {
  const { actor, resource, files } = approval;
  const hide = hideFor(actor.tenant);
  return {
    ...approval,
    ...(resource === undefined ? {} : { resource: hide.text(resource).slice(0, 500) }),
    ...(files === undefined ? {} : { files: files.map(({ path, sha256 }) => ({ path: hide.text(path), sha256 })) }),
  };
};
