// A collector of traces: an HTTP server that reads OTLP as JSON.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { until } from './until.ts'

type Value = string | number | boolean | undefined

export type CollectedSpan = {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  /** 2 for a server, 3 for a client. */
  readonly kind: number
  /** Nanoseconds since 1970. */
  readonly start: bigint
  readonly end: bigint
  readonly isError: boolean
  readonly message: string | undefined
  readonly attributes: Readonly<Record<string, Value>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  /** Of the process. */
  readonly resource: Readonly<Record<string, Value>>
}

export type Collector = {
  readonly url: string
  readonly spans: () => readonly CollectedSpan[]
  /** Content types of the exports so far. */
  readonly types: readonly string[]
  /** Waits for the span of a server whose name begins so, and returns all spans of its trace, the server's first. */
  readonly trace: (name: string) => Promise<readonly [CollectedSpan, ...CollectedSpan[]]>
}

/** @param answer responds instead of accepting what was sent */
export async function startCollector(
  t: Pick<Test, 'teardown'>,
  answer?: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Collector> {
  const collected: CollectedSpan[] = []
  const types: string[] = []
  const server = createServer((request, response) => {
    types.push(request.headers['content-type'] ?? '')
    if (answer) {
      answer(request, response)
      return
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.headers['content-type'] === 'application/json' && request.url === '/v1/traces') {
        collected.push(...readSpans(Buffer.concat(chunks).toString()))
      }
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const serverSpan = (name: string) => collected.find((span) => span.kind === 2 && span.name.startsWith(name))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => collected,
    types,
    trace: async (name) => {
      await until(() => serverSpan(name) !== undefined)
      const root = serverSpan(name)
      if (!root) throw new Error(`no span ${name}`)
      return [root, ...collected.filter((span) => span.traceId === root.traceId && span !== root)]
    },
  }
}

type Attribute = { readonly key: string; readonly value: Readonly<Record<string, string | number | boolean>> }
type Exported = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string
        readonly traceId: string
        readonly spanId: string
        readonly parentSpanId?: string
        readonly kind: number
        readonly startTimeUnixNano: string
        readonly endTimeUnixNano: string
        readonly status: { readonly code?: number; readonly message?: string }
        readonly attributes: readonly Attribute[]
        readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
      }[]
    }[]
  }[]
}

const attributesOf = (attributes: readonly Attribute[]): Record<string, Value> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

function readSpans(text: string): CollectedSpan[] {
  const { resourceSpans } = JSON.parse(text) as Exported
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...{ name: span.name, traceId: span.traceId, spanId: span.spanId, kind: span.kind },
        parentSpanId: span.parentSpanId,
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
        isError: span.status.code === 2,
        message: span.status.message,
        attributes: attributesOf(span.attributes),
        links: span.links ?? [],
        resource: attributesOf(resource.attributes),
      })),
    ),
  )
}
