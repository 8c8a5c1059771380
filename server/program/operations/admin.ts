// The admin server on a separate port, compatible with PostgREST 16.
// https://docs.postgrest.org/en/v16/references/admin_server.html
import type { RequestListener } from 'node:http'
import { toJson } from '../../schema-cache/json.ts'
import type { SchemaCache } from '../../schema-cache/schema-cache.ts'
import { serverName } from '../../common/version.ts'
import { wantsOpenMetrics } from './exposition.ts'
import type { Metrics } from './metrics.ts'

export type AdminOptions = {
  /** Undefined until it is loaded. */
  readonly schemaCache: () => SchemaCache | undefined
  readonly metrics: Metrics
  /** Whether requests can be served: the schema cache is loaded, and the database is available. */
  readonly isReady: () => Promise<boolean>
  /** Whether the API server accepts requests. */
  readonly isListening: () => boolean
}

type Answer = { readonly status: number; readonly type?: string; readonly body?: string }

/**
 * `/live`, `/ready`, `/schema_cache` and `/metrics`; any other path is 404. Only the metrics have a `Content-Type`.
 *
 * `/live` is 500 while the API server does not accept requests. `/ready` is 503 without a schema cache or database, and
 * otherwise the same as `/live`.
 */
export function createAdmin({ schemaCache, metrics, isReady, isListening }: AdminOptions): RequestListener {
  const answer = async (path: string, accept: string | undefined): Promise<Answer> => {
    switch (path) {
      case '/live':
        return { status: isListening() ? 200 : 500 }
      case '/ready':
        return { status: !(await isReady()) ? 503 : isListening() ? 200 : 500 }
      case '/schema_cache': {
        const cache = schemaCache()
        return { status: 200, body: cache ? JSON.stringify(toJson(cache)) : '' }
      }
      case '/metrics':
        return { status: 200, ...(await metrics.expose(wantsOpenMetrics(accept))) }
      default:
        return { status: 404 }
    }
  }
  return (request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    void answer(path, request.headers.accept).then(
      ({ status, type, body = '' }) => {
        const headers = {
          Server: serverName,
          'Content-Length': Buffer.byteLength(body),
          ...(type === undefined ? {} : { 'Content-Type': type }),
        }
        response.writeHead(status, headers)
        response.end(request.method === 'HEAD' ? undefined : body)
      },
      () => response.writeHead(500).end(),
    )
  }
}
