/**
 * Rules that hold for everybody and that no file can lift: forbid wins. Their names are told in decisions.
 *
 * The ladder of risk: what is seen outside needs a yes, what is hard to take back or runs arbitrary code a strong one.
 */
export const BASE_RULES = `
@id("base.tenant_wall")
forbid (principal, action, resource)
unless { resource.tenant == principal.tenant && context.task.tenant == principal.tenant };

@id("base.shared_credential")
forbid (principal, action, resource)
when { context.environment != "development" && context.credential == "shared" };

@id("base.task_confirm")
forbid (principal, action, resource)
when { context.confirm && context.approval == "none" };

@id("base.approve_external_write")
forbid (principal, action, resource)
when { context.level >= 2 && context.approval == "none" };

@id("base.approve_strongly")
forbid (principal, action, resource)
when { context.level >= 3 && context.approval != "strong" };
`;

/** Which of them only ask for a yes: a decision that waits is told by the rule that permits it afterwards. */
export const LADDER: ReadonlySet<string> = new Set(['base.approve_external_write', 'base.approve_strongly']);

/** What is allowed where no `default.cedar` says otherwise; what is privileged is for the files of a tenant. */
export const DEFAULT_RULES = `
@id("default.allow.read")
permit (principal, action in Action::"read", resource);

@id("default.allow.workspace_write")
permit (principal, action in Action::"workspace_write", resource);

@id("default.ask.external_write")
permit (principal, action in Action::"external_write", resource);

@id("default.ask.irreversible")
permit (principal, action in Action::"irreversible", resource);
`;
