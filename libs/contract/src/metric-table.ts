/**
 * Every number that a service serves at `GET /metrics`: one table, which `docs/metrics.md` is held equal to. Labels have
 * few values: tools are those of the registry, error types those of the error table; never a user, task or call.
 */
export type MetricRole = 'gateway' | 'router' | 'worker' | 'artifacts' | 'trace-writer' | 'egress';

export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Who serves it; every service when left out. */
  readonly by?: readonly MetricRole[];
  /** Upper bounds, in the unit of the name. */
  readonly buckets?: readonly number[];
}

const LATENCY = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120, 600] as const;

export const METRIC_TABLE = {
  process_cpu_seconds_total: { type: 'counter', help: 'CPU time of the process.', labels: [] },
  process_resident_memory_bytes: { type: 'gauge', help: 'Memory of the process in RAM.', labels: [] },
  process_start_time_seconds: { type: 'gauge', help: 'When the process started, since the epoch.', labels: [] },
  nodejs_heap_used_bytes: { type: 'gauge', help: 'JavaScript heap in use.', labels: [] },
  nodejs_eventloop_delay_seconds: {
    type: 'gauge',
    help: 'Delay of the event loop since the last scrape; quantile is 0.5, 0.99 or 1.',
    labels: ['quantile'],
  },

  toolfabric_hops_refused_total: {
    type: 'counter',
    help: 'Messages of the bus that had no valid code of whoever may send them, and were not looked at.',
    labels: ['hop'],
  },
  toolfabric_bus_connected: { type: 'gauge', help: '1 while there is a connection to the bus.', labels: [] },
  toolfabric_events_emitted_total: { type: 'counter', help: 'Trace events given to the bus.', labels: ['type'] },
  toolfabric_events_dropped_total: {
    type: 'counter',
    help: 'Trace events lost because there was no connection to the bus.',
    labels: ['type'],
  },
  toolfabric_spans_ended_total: { type: 'counter', help: 'Spans recorded for the trace store.', labels: [] },
  toolfabric_spans_dropped_total: {
    type: 'counter',
    help: 'Spans that the queue to the trace store had no room for.',
    labels: [],
  },
  toolfabric_otlp_spans_total: {
    type: 'counter',
    help: 'Spans for the OTLP collector; outcome is exported, failed or dropped.',
    labels: ['outcome'],
  },

  toolfabric_requests_total: {
    type: 'counter',
    help: 'Requests answered, by verb and by `ok` or the type of the error.',
    labels: ['verb', 'code'],
    by: ['gateway', 'router', 'artifacts'],
  },
  toolfabric_request_duration_seconds: {
    type: 'histogram',
    help: 'From the request to its answer; a call includes the wait for its end.',
    labels: ['verb'],
    by: ['gateway', 'router', 'artifacts'],
    buckets: LATENCY,
  },
  toolfabric_requests_in_flight: {
    type: 'gauge',
    help: 'Requests that are being answered.',
    labels: [],
    by: ['gateway', 'router', 'artifacts'],
  },
  toolfabric_waiting_callers: { type: 'gauge', help: 'Callers that wait for a call.', labels: [], by: ['gateway'] },
  toolfabric_refusals_total: {
    type: 'counter',
    help: 'Proposals that were refused before they were recorded.',
    labels: ['type', 'layer'],
    by: ['gateway', 'router'],
  },
  toolfabric_policy_decisions_total: {
    type: 'counter',
    help: 'Decisions of the policy by verdict: allow, needs_approval or deny.',
    labels: ['verdict'],
    by: ['router'],
  },
  toolfabric_policy_failures_total: {
    type: 'counter',
    help: 'Questions that the policy engine could not answer; each was denied.',
    labels: [],
    by: ['router'],
  },
  toolfabric_policy_problems: {
    type: 'gauge',
    help: 'Errors in the policy files; what they stand in is not in use.',
    labels: [],
    by: ['router'],
  },

  toolfabric_calls_accepted_total: {
    type: 'counter',
    help: 'Calls recorded.',
    labels: ['tool', 'kind'],
    by: ['router'],
  },
  toolfabric_calls_total: {
    type: 'counter',
    help: 'Ends of calls by state; a call that is settled after `unknown` has two.',
    labels: ['tool', 'kind', 'state'],
    by: ['router'],
  },
  toolfabric_call_duration_seconds: {
    type: 'histogram',
    help: 'From acceptance to the end of a call.',
    labels: ['tool', 'kind'],
    by: ['router'],
    buckets: LATENCY,
  },
  toolfabric_calls_open: {
    type: 'gauge',
    help: 'Calls that are not closed, in the shards of this router.',
    labels: [],
    by: ['router'],
  },
  toolfabric_epochs_raised_total: {
    type: 'counter',
    help: 'Executions that were taken away and published once more.',
    labels: ['kind'],
    by: ['router'],
  },
  toolfabric_retries_total: {
    type: 'counter',
    help: 'Calls that the fabric tries again, since they did nothing and failed for a reason that passes.',
    labels: ['kind', 'type'],
    by: ['router'],
  },
  toolfabric_probes_total: {
    type: 'counter',
    help: 'Questions about what became of an unknown call.',
    labels: ['kind'],
    by: ['router'],
  },
  toolfabric_work_not_published_total: {
    type: 'counter',
    help: 'Work that the bus did not take; the sweep sends it again.',
    labels: ['kind', 'reason'],
    by: ['router'],
  },
  toolfabric_settle_failures_total: {
    type: 'counter',
    help: 'Results that could not be taken in and come again.',
    labels: [],
    by: ['router'],
  },
  toolfabric_ledger_fill_ratio: {
    type: 'gauge',
    help: 'Share in use of the fullest stream of records; above 0.85 nothing new is accepted.',
    labels: [],
    by: ['router'],
  },
  toolfabric_shards_held: {
    type: 'gauge',
    help: 'Shards of open calls that this router sweeps.',
    labels: [],
    by: ['router'],
  },
  toolfabric_workers_alive: {
    type: 'gauge',
    help: 'Workers that this router sees alive.',
    labels: ['kind'],
    by: ['router'],
  },
  toolfabric_workers_dead_total: {
    type: 'counter',
    help: 'Workers that this router declared dead.',
    labels: ['kind'],
    by: ['router'],
  },
  toolfabric_payload_events: {
    type: 'gauge',
    help: '1 when redacted arguments and results are recorded; 0 without a redaction key.',
    labels: [],
    by: ['router'],
  },

  toolfabric_executions_total: {
    type: 'counter',
    help: 'Executions that ended, by what the worker reported.',
    labels: ['tool', 'kind', 'status'],
    by: ['worker'],
  },
  toolfabric_execution_duration_seconds: {
    type: 'histogram',
    help: 'Time that the tool itself took.',
    labels: ['tool', 'kind'],
    by: ['worker'],
    buckets: LATENCY,
  },
  toolfabric_executions_in_flight: { type: 'gauge', help: 'Executions that run.', labels: ['kind'], by: ['worker'] },
  toolfabric_queue_wait_seconds: {
    type: 'histogram',
    help: 'From the publication of work to the start of its execution.',
    labels: ['kind'],
    by: ['worker'],
    buckets: LATENCY,
  },
  toolfabric_deliveries_refused_total: {
    type: 'counter',
    help: 'Messages that could not be verified and were copied to the dead letters.',
    labels: ['kind'],
    by: ['worker'],
  },
  toolfabric_delivery_failures_total: {
    type: 'counter',
    help: 'Deliveries that failed and come again.',
    labels: ['kind', 'reason'],
    by: ['worker'],
  },
  toolfabric_claims_lost_total: {
    type: 'counter',
    help: 'Executions that ended after their claim had gone elsewhere.',
    labels: ['kind'],
    by: ['worker'],
  },
  toolfabric_life_renewal_failures_total: {
    type: 'counter',
    help: 'Renewals of the life sign that nobody answered.',
    labels: ['kind'],
    by: ['worker'],
  },
  toolfabric_standing_sandboxes_total: {
    type: 'counter',
    help: 'Sandboxes made ahead of their command; outcome is made, failed, used, or why one was thrown away: unfit, ended, old, crowded or dropped.',
    labels: ['kind', 'outcome'],
    by: ['worker'],
  },

  toolfabric_trace_events_total: {
    type: 'counter',
    help: 'Events taken from the bus; outcome is stored, rejected by the store, or why one was not valid.',
    labels: ['outcome'],
    by: ['trace-writer'],
  },
  toolfabric_trace_inserts_total: {
    type: 'counter',
    help: 'Batches given to the trace store; outcome is stored, repeated or rejected.',
    labels: ['outcome'],
    by: ['trace-writer'],
  },
  toolfabric_trace_delay_seconds: {
    type: 'gauge',
    help: 'Age of the newest event when its rows were stored.',
    labels: [],
    by: ['trace-writer'],
  },
  toolfabric_trace_waiting_events: {
    type: 'gauge',
    help: 'Events of a stream that are not in the trace store yet.',
    labels: ['stream'],
    by: ['trace-writer'],
  },
  toolfabric_trace_held_bytes: {
    type: 'gauge',
    help: 'Rows in memory that are not stored yet.',
    labels: [],
    by: ['trace-writer'],
  },
  toolfabric_trace_store_ready: {
    type: 'gauge',
    help: '1 while the trace store takes rows.',
    labels: [],
    by: ['trace-writer'],
  },
  toolfabric_trace_engine_resident_bytes: {
    type: 'gauge',
    help: 'Memory in RAM of the process of an embedded engine; 0 without one.',
    labels: [],
    by: ['trace-writer'],
  },

  toolfabric_egress_attempts_total: {
    type: 'counter',
    help: 'What clients of the way out tried; verdict is allowed, refused or closed; reason is none for what went as wanted.',
    labels: ['verdict', 'reason'],
    by: ['egress'],
  },
  toolfabric_egress_permits: { type: 'gauge', help: 'Permits that are held.', labels: [], by: ['egress'] },
} as const satisfies Readonly<Record<string, MetricRow>>;

type Rows = typeof METRIC_TABLE;
export type MetricName = keyof Rows;
export type MetricOf<T extends MetricRow['type']> = {
  [N in MetricName]: Rows[N]['type'] extends T ? N : never;
}[MetricName];
export type LabelsOf<N extends MetricName> = Readonly<Record<Rows[N]['labels'][number], string>>;
