import { z } from 'zod';

export interface TelemetrySettings {
  /** Share of the traces that begin here which are recorded; 0 records none, not even those a caller asks for. */
  readonly sampling: number;
  /** Where an OTLP collector takes spans over HTTP; none when left out. */
  readonly otlpEndpoint?: string;
}

/** Every service reads these; part of the environment schema of its `config.ts`. */
export const TELEMETRY_ENVIRONMENT = {
  /** Base URL such as `http://collector:4318`; `/v1/traces` is added. */
  TOOLFABRIC_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  TOOLFABRIC_TRACE_SAMPLING: z.coerce.number().min(0).max(1).default(1),
};

export const telemetrySettings = (values: z.output<z.ZodObject<typeof TELEMETRY_ENVIRONMENT>>): TelemetrySettings => ({
  sampling: values.TOOLFABRIC_TRACE_SAMPLING,
  ...(values.TOOLFABRIC_OTLP_ENDPOINT === undefined ? {} : { otlpEndpoint: values.TOOLFABRIC_OTLP_ENDPOINT }),
});
