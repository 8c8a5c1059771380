// Settings of traces and of the log of slow statements. The names of OpenTelemetry's variables are standard.
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
import type { OperationConfig } from './config.ts'
import { service } from './service-setting.ts'
import * as types from './setting-types.ts'
import type { Setting } from './setting.ts'

export const operationSettings: { readonly [K in keyof OperationConfig]: Setting<OperationConfig[K]> } = {
  otelExporterOtlpEndpoint: service({
    name: 'otel-exporter-otlp-endpoint',
    variables: ['OTEL_EXPORTER_OTLP_ENDPOINT'],
    type: types.httpUrl,
    default: null,
    defaultInWords: 'none: requests are not traced',
    example: '"http://localhost:4318"',
    description: 'Base URL of the collector that [traces](../running/operations/README.md) are sent to.',
  }),
  otelExporterOtlpProtocol: service({
    name: 'otel-exporter-otlp-protocol',
    variables: ['OTEL_EXPORTER_OTLP_PROTOCOL'],
    type: types.choice(['http/protobuf', 'http/json'], 'Invalid otel-exporter-otlp-protocol.'),
    default: 'http/protobuf',
    description: 'How traces are sent: `http/protobuf` or `http/json`.',
  }),
  otelServiceName: service({
    name: 'otel-service-name',
    variables: ['OTEL_SERVICE_NAME'],
    type: types.text,
    default: 'rowhouse',
    description: 'Name of the service in traces.',
  }),
  otelResourceAttributes: service({
    name: 'otel-resource-attributes',
    variables: ['OTEL_RESOURCE_ATTRIBUTES'],
    type: types.attributes,
    default: [],
    defaultInWords: 'none',
    example: '"deployment.environment.name=production"',
    description: 'Attributes of the process in traces, as `name=value`, separated by commas, percent-encoded.',
  }),
  otelTracesSampler: service({
    name: 'otel-traces-sampler',
    variables: ['OTEL_TRACES_SAMPLER'],
    type: types.choice(
      [
        'parentbased_always_on',
        'parentbased_always_off',
        'parentbased_traceidratio',
        'always_on',
        'always_off',
        'traceidratio',
      ],
      'Invalid otel-traces-sampler.',
    ),
    default: 'parentbased_always_on',
    description:
      'Which requests are traced. `parentbased_…` follows the header `traceparent`, with which clients decide; the others ignore it for this decision.',
  }),
  otelTracesSamplerArg: service({
    name: 'otel-traces-sampler-arg',
    variables: ['OTEL_TRACES_SAMPLER_ARG'],
    type: types.fraction,
    default: 1,
    description: 'Fraction of requests that `traceidratio` samples, from 0 to 1.',
  }),
  otelPropagators: service({
    name: 'otel-propagators',
    variables: ['OTEL_PROPAGATORS'],
    type: types.wordsOf(['tracecontext', 'baggage', 'none']),
    default: ['tracecontext', 'baggage'],
    description:
      'Whether `traceparent` and `tracestate` of requests are read, and sent with requests to others (`tracecontext`), or not (`none`). `baggage` is accepted, and has no effect.',
  }),
  otelSdkDisabled: service({
    name: 'otel-sdk-disabled',
    variables: ['OTEL_SDK_DISABLED'],
    type: types.boolean,
    default: false,
    description: 'Whether traces are off, whatever the other settings are.',
  }),
  databaseTraceContext: service({
    name: 'database-trace-context',
    variables: ['DATABASE_TRACE_CONTEXT'],
    type: types.choice(['none', 'comment', 'application-name'], 'Invalid database-trace-context.'),
    default: 'none',
    description:
      'How the database learns of the trace of a sampled request: by a comment in its statements, which are not prepared then; by `application_name`; or not at all.',
  }),
  slowQueryThreshold: service({
    name: 'slow-query-threshold',
    variables: ['SLOW_QUERY_THRESHOLD'],
    type: types.integer({ min: 0, max: 86_400_000 }),
    default: 0,
    description: 'Milliseconds from which statements are logged as slow. `0` logs none.',
  }),
  slowQueryPlan: service({
    name: 'slow-query-plan',
    variables: ['SLOW_QUERY_PLAN'],
    type: types.choice(['none', 'redacted', 'full'], 'Invalid slow-query-plan.'),
    default: 'none',
    description:
      'Whether a slow statement is logged with its plan, which is determined afterwards, at most once a second: with `?` in place of values (`redacted`), or with all values (`full`).',
  }),
}
