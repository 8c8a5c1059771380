// Creates traces with OpenTelemetry's SDK, and sends them to a collector. Its packages are loaded only if requests are traced.
// https://opentelemetry.io/docs/specs/semconv/http/http-spans/
import type { IncomingMessage } from 'node:http'
import type { Context, Span, TextMapGetter } from '@opentelemetry/api'
import type { Sampler, SpanExporter } from '@opentelemetry/sdk-trace-base'
import { isInTime } from '../../../common/timers.ts'
import { version } from '../../../common/version.ts'
import type { OperationConfig } from '../../../config/config.ts'
import { knownMethod } from '../known-method.ts'
import { ReportingExporter, type ExportReport } from './reporting-exporter.ts'
import { RequestSpan } from './request-span.ts'

type Sdk = typeof import('@opentelemetry/sdk-trace-base')

export type Tracer = {
  /**
   * Begins the span of a request that has arrived, with the trace context in its headers.
   *
   * @returns the span, which may not be sampled: then only its context matters, for requests to others
   */
  readonly begin: (request: IncomingMessage) => RequestSpan
  /**
   * Begins the span of a message on a WebSocket, in a trace of its own: a connection may stay open for days.
   *
   * @param route path of the WebSocket
   * @param handshake the span of the request that has opened the connection, which the message is linked to
   */
  readonly beginMessage: (route: string, handshake: RequestSpan) => RequestSpan
  /** Sends what is left, for up to three seconds, and stops. */
  readonly stop: () => Promise<void>
}

/** Milliseconds in which the rest is sent when the process ends. */
const endTime = 3000
/** UTF-16 units of an attribute. Bounds the memory of the spans that wait for the collector, of which there are 2048. */
const attributeLength = 8192

/** The settings that decide whether requests are traced. */
type Endpoint = Pick<OperationConfig, 'otelExporterOtlpEndpoint' | 'otelSdkDisabled'>

const isTracing = ({ otelExporterOtlpEndpoint, otelSdkDisabled }: Endpoint): boolean =>
  otelExporterOtlpEndpoint !== null && !otelSdkDisabled

/**
 * Loads the SDK.
 *
 * @param report receives the outcome of each export
 * @returns undefined if requests are not traced
 */
export async function createTracer(config: OperationConfig, report: ExportReport): Promise<Tracer | undefined> {
  const { otelExporterOtlpEndpoint: endpoint } = config
  if (endpoint === null || !isTracing(config)) return undefined
  const api = await import('@opentelemetry/api')
  const sdk = await import('@opentelemetry/sdk-trace-base')
  const { defaultResource, resourceFromAttributes } = await import('@opentelemetry/resources')
  const { W3CTraceContextPropagator } = await import('@opentelemetry/core')
  const exporter = await createExporter(config.otelExporterOtlpProtocol, endpoint)
  const provider = new sdk.BasicTracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.version': version,
        'process.pid': process.pid,
        ...Object.fromEntries(config.otelResourceAttributes),
        'service.name': config.otelServiceName,
      }),
    ),
    sampler: samplerOf(config, sdk),
    spanLimits: { attributeValueLengthLimit: attributeLength },
    spanProcessors: [new sdk.BatchSpanProcessor(new ReportingExporter(exporter, report))],
  })
  const tracer = provider.getTracer('rowhouse', version)
  const propagates = config.otelPropagators.includes('tracecontext')
  const propagator = new W3CTraceContextPropagator()
  const requestSpan = (span: Span, parent: Context): RequestSpan => {
    const context = api.trace.setSpan(parent, span)
    return new RequestSpan({ api, tracer, span, context, propagated: propagates ? inject(propagator, context) : {} })
  }
  return {
    begin: (request) => {
      const parent = propagates ? propagator.extract(api.ROOT_CONTEXT, request.headers, headerGetter) : api.ROOT_CONTEXT
      const span = tracer.startSpan(
        nameOf(knownMethod(request.method ?? '')),
        { kind: api.SpanKind.SERVER, attributes: attributesOf(request) },
        parent,
      )
      return requestSpan(span, parent)
    },
    beginMessage: (route, handshake) => {
      const attributes = { 'http.route': route, 'network.protocol.name': 'websocket' }
      const links = [{ context: handshake.spanContext }]
      const { ROOT_CONTEXT: root, SpanKind } = api
      return requestSpan(tracer.startSpan(`message ${route}`, { kind: SpanKind.SERVER, attributes, links }, root), root)
    },
    stop: async () => {
      // The collector may delay the end. Failures were reported by the exporter.
      await isInTime(endTime, provider.shutdown()).catch(() => undefined)
    },
  }
}

/** The exporter for a protocol. The path is that of the specification for a base URL. */
async function createExporter(
  protocol: OperationConfig['otelExporterOtlpProtocol'],
  endpoint: string,
): Promise<SpanExporter> {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`
  switch (protocol) {
    case 'http/protobuf':
      return new (await import('@opentelemetry/exporter-trace-otlp-proto')).OTLPTraceExporter({ url })
    case 'http/json':
      return new (await import('@opentelemetry/exporter-trace-otlp-http')).OTLPTraceExporter({ url })
    default:
      return protocol satisfies never
  }
}

function samplerOf({ otelTracesSampler: name, otelTracesSamplerArg: fraction }: OperationConfig, sdk: Sdk): Sampler {
  const samplers = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
    traceidratio: () => new sdk.TraceIdRatioBasedSampler(fraction),
  }
  const isOfRoot = name.startsWith('parentbased_')
  const root = samplers[name.replace('parentbased_', '') as keyof typeof samplers]()
  return isOfRoot ? new sdk.ParentBasedSampler({ root }) : root
}

const headerGetter: TextMapGetter<IncomingMessage['headers']> = {
  get: (headers, name) => headers[name],
  keys: (headers) => Object.keys(headers),
}

function inject(
  propagator: { inject: (context: Context, carrier: object, setter: { set: typeof setHeader }) => void },
  context: Context,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  propagator.inject(context, headers, { set: setHeader })
  return headers
}

const setHeader = (carrier: object, name: string, text: string): void => void Object.assign(carrier, { [name]: text })

/** The name of a span as long as its route is not known. */
const nameOf = (method: string): string => (method === '_OTHER' ? 'HTTP' : method)

/** What is known when a request arrives. The query string is left out, because it contains values. */
function attributesOf({ method = '', url = '/', httpVersion }: IncomingMessage): Record<string, string> {
  const end = url.indexOf('?')
  return {
    'http.request.method': knownMethod(method),
    'url.path': end < 0 ? url : url.slice(0, end),
    'url.scheme': 'http',
    'network.protocol.version': httpVersion,
  }
}
