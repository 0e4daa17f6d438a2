import {
  BaseAddress,
  CredentialHandle,
  Example,
  Governance,
  HttpMethod,
  PathTemplate,
  ReconcileQuery,
  RequestHeader,
  RiskGroup,
  Token,
  ToolVersion,
} from '@toolfabric/contract';
import { z } from 'zod';

const JsonObject = z.record(z.string(), z.json());
const Name = z.string().regex(/^[a-z][a-z0-9_]{0,40}$/, 'a lower-case name');

/** One value of a request that is not in its body. */
export const DeclaredParameter = z.strictObject({
  /** As the interface calls it; in a path it stands in braces. */
  name: z.string().min(1).max(100),
  in: z.enum(['path', 'query', 'header']),
  /** As the tool calls it; the name when left out. */
  argument: z.string().max(63).optional(),
  required: z.boolean().default(false),
  /** How a list stands in the query. */
  list: z.enum(['repeat', 'comma']).optional(),
  /** JSON Schema 2020-12. */
  schema: JsonObject,
});
export type DeclaredParameter = z.output<typeof DeclaredParameter>;

/** How it is found out whether a write whose answer was lost took effect. */
const Question = z.strictObject({
  /** The operation of this interface that is asked; it only reads. */
  operation: Name,
  arguments: ReconcileQuery.shape.arguments,
  /** JMESPath over the outcome of that operation, whose answer is `data.body`. */
  id: ReconcileQuery.shape.id,
  absent: ReconcileQuery.shape.absent,
  history: z.boolean().optional(),
  fence: z.enum(['none', 'dedupe', 'egress']).optional(),
  window_ms: z.int().min(0).optional(),
});

export const DeclaredOperation = z.strictObject({
  /** The tool is called by the interface and this name. */
  name: Name,
  method: HttpMethod,
  path: PathTemplate,
  description: z.string().min(20).max(4_000),
  use_when: z.array(z.string()).min(1).optional(),
  not_for: z.array(z.string()).min(1).optional(),
  examples: z.array(Example).min(1).max(10).optional(),
  parameters: z.array(DeclaredParameter).max(64).default([]),
  /** JSON. Its fields become arguments of the tool where that can be; else it is one argument, `body`. */
  body: z
    .strictObject({
      schema: JsonObject,
      required: z.boolean().default(true),
      as: z.enum(['fields', 'argument']).optional(),
    })
    .optional(),
  success: z.array(z.int().min(200).max(299)).min(1).max(10).default([200]),
  /** Statuses after which it is certain that nothing was changed; `4xx` for all of them but 408. */
  refusals: z.union([z.array(z.int().min(400).max(499)).max(100), z.literal('4xx')]).optional(),
  /** JSON Schema of the JSON that answers a success. */
  response: JsonObject.optional(),
  /** Headers of the answer that are shown. */
  show: z.array(z.string()).max(16).optional(),
  /** JSON pointer into the answer: the id of what was written. */
  id: z.string().optional(),
  /** The argument that carries the expected version. */
  precondition: z
    .strictObject({
      header: z.enum(['if-match', 'if-unmodified-since']).default('if-match'),
      argument: z.string().default('etag'),
      required: z.boolean().default(false),
    })
    .optional(),
  /** Whether it carries the key of the interface; every write does when left out. */
  key: z.boolean().optional(),
  risk: RiskGroup.optional(),
  idempotent: z.boolean().default(false),
  /** `person`: nothing can be asked. */
  reconcile: z.union([Question, z.literal('person')]).optional(),
  operation_key: Governance.shape.operation_key,
  effect_scope: Governance.shape.effect_scope,
  operation_days: Governance.shape.operation_days,
  resource: Governance.shape.resource,
  preview: Governance.shape.preview,
  redact: Governance.shape.redact.optional(),
  raise: Governance.shape.raise,
  /** Milliseconds. */
  timeout_ms: z.int().min(100).max(600_000).default(30_000),
  budget_bytes: z.int().min(256).max(49_152).default(16_384),
});
export type DeclaredOperation = z.output<typeof DeclaredOperation>;

/** What all operations of an interface have in common. */
export const InterfaceHead = z.strictObject({
  /** The group of its tools. */
  interface: Name,
  version: ToolVersion.default('1.0.0'),
  base: BaseAddress,
  /** Where the same interface may be tried out. */
  test_base: BaseAddress.optional(),
  credential: CredentialHandle.optional(),
  /** By this header the other side knows a repeated request: it carries the operation key. */
  key_header: RequestHeader.optional(),
  /** The other side promises that a repeated key is one effect. */
  deduplicates: z.boolean().default(false),
  /** Address ranges, as CIDR, that the host may lie in although they are not public. */
  addresses: z.array(z.string().max(50)).min(1).max(8).optional(),
  /** Pools that may run its tools; `web` when left out. */
  pools: z.array(Token).max(8).optional(),
});

/** A declared interface: everything that its tools are made of. */
export const InterfaceDocument = z.strictObject({
  ...InterfaceHead.shape,
  operations: z.array(DeclaredOperation).min(1).max(200),
});
export type InterfaceDocument = z.output<typeof InterfaceDocument>;

/** The same as a person writes it beside an OpenAPI document: what stands there need not be said again. */
export const InterfaceOverlay = z.strictObject({
  ...InterfaceHead.shape,
  /** File of the OpenAPI document, beside this one. */
  openapi: z.string().max(300).optional(),
  operations: z
    .array(z.looseObject({ name: Name.optional(), from: z.string().max(200).optional() }))
    .min(1)
    .max(200),
});
export type InterfaceOverlay = z.output<typeof InterfaceOverlay>;
