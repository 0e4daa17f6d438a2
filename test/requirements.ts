/** What the product must do. An id is permanent; a row is claimed only when it works on a real peer. */
export type State = 'open' | 'met' | { readonly partial: string };

export interface Requirement {
  readonly id: string;
  readonly text: string;
  /** `partial` names the clause that is missing. */
  readonly state: State;
}

const row = (id: string, text: string, state: State = 'open'): Requirement => ({ id, text, state });

export const REQUIREMENTS: readonly Requirement[] = [
  // Front doors and model protocols
  row('FD-1', 'One neutral request and result; vendor, contract and execution change apart from one another.', {
    partial: 'the model protocols do not exist yet; shown is that contract and execution change apart',
  }),
  row('FD-2', 'Tool definitions, calls and results for the five families of model protocols, streaming too.'),
  row('FD-3', 'Strict schema subsets of vendors; what does not fit is reported at registration.'),
  row('FD-4', 'One API in front of the models of several vendors; keys stay on the server.'),
  row('FD-5', 'The turn loop as a state machine with bounds on rounds, calls and time.', {
    partial: 'the loop of an agent itself; shown are the bounds that the router keeps for it',
  }),
  row('FD-6', 'A gRPC front door: unary calls, streamed progress, cancel, artifacts.', 'met'),
  row('FD-7', 'An MCP front door over Streamable HTTP for both protocol revisions.'),
  row('FD-8', 'A TypeScript client library and a command line with the same verbs.', 'met'),
  row('FD-9', 'Tools hosted by a vendor pass through, leave the same trace, and are chosen by a capability table.'),
  // Contract and registry
  row('RG-1', 'Contracts of five layers; a model sees three; irreversible ones need operation key and reconcile.', {
    partial: 'named domain groups',
  }),
  row('RG-2', 'The record keeps version, risk, limits, observability and redaction beside name and schemas.', {
    partial: 'observability rules of a contract',
  }),
  row('RG-3', 'Draft, published, deprecated, retired; versions never change; incompatible changes are flagged.', 'met'),
  row('RG-4', 'Descriptions are linted for use, scope and alternatives; near-duplicates are flagged.', {
    partial: 'the warnings of the lint are not shown to the publisher yet',
  }),
  row('RG-5', 'The catalogue is trimmed by actor and task; listing never changes a decision.', 'met'),
  row('RG-6', 'Search, describe, call as disclosure in steps, with its quality measured.'),
  row('RG-7', 'A catalogue change that makes selection worse is refused.'),
  row('RG-8', 'Outputs are checked; an answer that only looks like success becomes an error.', 'met'),
  // Routing and dispatch
  row('RT-1', 'Intent routing, measured, with none as an answer; only tools of the intent are exposed.'),
  row('RT-2', 'Capability routing by mode, health, cost and policy; fallbacks are recorded.'),
  row('RT-3', 'Execution routing: pool, affinity, priority, isolation never below what is asked.', {
    partial: 'affinity of sessions; shown are workspaces by pinned slots',
  }),
  row('RT-4', 'Schema errors by field from which a model can repair; formats hold, unknown ones are refused.', 'met'),
  row('RT-5', 'Scope checks after the schema: path, domain, resource, and a precondition that still holds.', {
    partial: 'etags and versions of outside resources; shown are paths, hashes of files, hosts and resources',
  }),
  row('RT-6', 'Quotas, rate limits and fair queues a tenant.', 'met'),
  row('RT-7', 'Parallel and serial modes; writes to one resource one after the other.', 'met'),
  row('RT-8', 'Each kind of failure ends in the layer that must act on it.', {
    partial: 'rows of adapters that do not exist yet',
  }),
  row('RT-9', 'No side road: one conformance suite for all adapters; workers refuse undecided messages.', {
    partial: 'adapters that do not exist yet; shown for the command executor, the web and an outside service',
  }),
  row('RT-10', 'A workspace of a task serves workers of several kinds and outlives each of them.', {
    partial: 'workers of one adapter; shown are two pools of it, no other adapter uses workspaces yet',
  }),
  // Results
  row('RS-1', 'Five statuses; unknown is never told as an error.', 'met'),
  row('RS-2', 'Typed errors, side effect, evidence, artifacts; a write is confirmed only with proof.', 'met'),
  row('RS-3', 'Head and tail summaries, key matches, stated truncation, full output as artifact.', 'met'),
  row('RS-4', 'Results, artifacts, watches and traces are read by their owner or by grant, checked every time.', {
    partial: 'sharing of calls and traces; artifacts are shared',
  }),
  row('RS-5', 'Redaction before model, log and trace; equal secrets correlate inside one tenant only.', 'met'),
  row('RS-6', 'Content from outside is marked untrusted with its origin; the router owns what follows from it.', {
    partial: 'pages of a browser and MCP answers do not exist yet; shown for fetched pages, searches and interfaces',
  }),
  // Policy and approval
  row('PO-1', 'A decision over everything known about a call; the least limits reach executor and trace.', 'met'),
  row('PO-2', 'Five risk levels whose approvals no override can drop.', {
    partial: 'arbitrary code at gVisor or stronger: no executor has it yet',
  }),
  row('PO-3', 'An approval shows meaning: who, as which account, what, where, the body.', 'met'),
  row('PO-4', 'An approval binds arguments, tool and policy version, is used once, expires, is checked again.', 'met'),
  row('PO-5', 'Batch approvals within one scope, one risk level and one window.', 'met'),
  row('PO-6', 'Policy is tested, linted, run in shadow and replayed over past calls.', 'met'),
  row('PO-7', 'Installing dependencies and widening scope are authorised apart.', 'met'),
  row('PO-8', 'Personal data is refused or redacted where a contract forbids it; measured.', 'met'),
  row('PO-9', 'The constraints of a task hold in every adapter.', {
    partial:
      'adapters that do not exist yet; shown for every tool of the command executor, the web and an outside service',
  }),
  row('PO-10', 'Roles for publishing, consenting, releasing, policy and approving.', {
    partial: 'consent to servers and release from quarantine, which do not exist yet; policies are files',
  }),
  row('PO-11', 'One credential broker: for one call, one audience, expiring, revoked at its end, seen nowhere.', 'met'),
  // Reliability of side effects
  row('RE-1', 'A business key beside the call id: same arguments find the recorded result, others conflict.', 'met'),
  row('RE-2', 'A lost receipt ends unknown and is reconciled; nothing is blindly run again.', 'met'),
  row('RE-3', 'Killing any process at any moment loses no accepted call and doubles no effect.', 'met'),
  row('RE-4', 'Cancel reaches the real thing; after an outside write began it ends unknown and is reconciled.', {
    partial: 'pages, containers and MCP requests do not exist yet; shown are process, worker and claim',
  }),
  row('RE-5', 'Background tasks: start, status, log, cancel.', 'met'),
  row('RE-6', 'An interrupted file write leaves the original whole.', 'met'),
  // CLI executor
  row('CL-1', 'Argument lists, fixed folder and environment, limits; no allowed program becomes a shell.', 'met'),
  row('CL-2', 'The workspace tools: read, edit, search, git, tests.', 'met'),
  row('CL-3', 'The open shell is a tool of its own whose final meaning is analysed.', 'met'),
  row('CL-4', 'Nothing survives a timeout or cancel.', 'met'),
  row('CL-5', 'Each result carries exit code, duration and the files changed with a bounded diff.', 'met'),
  row('CL-6', 'Low privilege under each command: not root, workspace only, no network, capped memory.', 'met'),
  // Browser executor
  row('BR-1', 'A fresh context a task; login state by authorisation only.'),
  row('BR-2', 'Tree, screenshot, network and console as bounded observations.'),
  row('BR-3', 'A domain boundary that holds for every way out of a page.', {
    partial: 'pages do not exist yet; shown is the door that they will use',
  }),
  row('BR-4', 'Downloads, uploads and device permissions a task; login state stays inside.'),
  row('BR-5', 'Evidence for each action: address, role, name, before, after, screenshot.'),
  row('BR-6', 'A stale element is observed again, never replaced; an expired login says so.'),
  row('BR-7', 'Session affinity with lease and fence; a lost worker is reported.'),
  row('BR-8', 'Outside effects of a page go through approval and are held until then.'),
  row('BR-9', 'The preview server of a task is reachable from its own browser alone.'),
  // Code executor
  row('SB-1', 'Own task folder, read-only root, separate output folder.'),
  row('SB-2', 'No network, then an allowlist that names cannot leak around.', {
    partial: 'sandboxes for code do not exist yet; shown are the door and commands',
  }),
  row('SB-3', 'Short-lived credentials for the operation alone; the host environment is never inherited.'),
  row('SB-4', 'Limits on six resources; which one was hit is reported.'),
  row('SB-5', 'Isolation by trust; refused when the level is missing.'),
  row('SB-6', 'A reproduction bundle that another person can run again and compare.'),
  row('SB-7', 'Dependency installation as an authorised step with a preview.'),
  row('SB-8', 'Destroyed at the end; artifacts leave by a checked channel.'),
  // MCP executor and governance
  row('MC-1', 'Stdio and HTTP servers; tools, resources and prompts kept apart in trust.'),
  row('MC-2', 'Every content type of the protocol.'),
  row('MC-3', 'Servers are governed: source, consent, sandboxed start, allowlist, quarantine.'),
  row('MC-4', 'Annotations are not believed; a changed definition is quarantined.'),
  row('MC-5', 'OAuth with audience checks and no passed-through tokens.'),
  row('MC-6', 'One dead or slow server never breaks the others.'),
  row('MC-7', 'Any client revision to any server revision.'),
  // Web tools
  row('WB-1', 'Web search as a pipeline that ends in cited snippets.', 'met'),
  row('WB-2', 'Fetching apart from searching; forged targets are refused on every hop.', 'met'),
  row('WB-3', 'Results are untrusted; a failed provider is named; a snippet needs its source.', 'met'),
  row('WB-4', 'Requests to declared interfaces with granted credentials; unsafe methods are outside writes.', 'met'),
  // Trace, evaluation, replay
  row('TR-1', 'One trace a call from model request to outside evidence, with every field.', {
    partial: 'requests of models, which do not pass through the fabric yet',
  }),
  row('TR-2', 'The ten indicators as queries, dashboard and alerts.', {
    partial: 'queries, dashboard and alerts; what they need is recorded in columns',
  }),
  row('TR-3', 'Replay with fixed results and replay with fixed requests.'),
  row('TR-4', 'Evaluation in layers: selection, arguments, execution, task.'),
  row('TR-5', 'Fault injection: lost receipt, kill while writing, expired browser context.'),
  row('TR-6', 'The walk-through runs end to end and checks itself.'),
  // Operation
  row('OP-1', 'Each service has its own image and egress, scales alone; a missing adapter is a typed refusal.'),
  row('OP-2', 'Tenants cannot see, call, read or starve one another.', 'met'),
  row('OP-3', 'On SIGTERM a service drains: nothing lost, nothing doubled.', 'met'),
  row('OP-4', 'One command starts everything on one machine; the same services run on Kubernetes.', {
    partial: 'the manifests are validated, and were not run on a cluster',
  }),
  row('OP-5', 'A console for approvals, traces and catalogue, tested in a real browser.'),
  row('OP-6', 'Services authenticate to the bus with the least permissions each needs.', 'met'),
];
