// The admin server, on a port of its own. https://docs.postgrest.org/en/v14/references/admin_server.html
import type { RequestListener } from 'node:http'
import { dumpWithoutSecrets } from '../config/dump.ts'
import type { Runtime } from '../runtime.ts'
import { toJson } from '../schema-cache/json.ts'
import { serverName } from '../version.ts'
import type { Metrics } from './metrics.ts'

export type AdminOptions = {
  readonly runtime: Runtime
  readonly metrics: Metrics
  /** Whether requests could be answered: the schema cache is loaded, and the database is there. */
  readonly isReady: () => Promise<boolean>
  /** Whether the API server accepts requests. */
  readonly isListening: () => boolean
}

type Answer = { readonly status: number; readonly type?: string; readonly body?: string }

/** `/live`, `/ready`, `/schema_cache`, `/config` and `/metrics`; any other path is 404. */
export function createAdmin({ runtime, metrics, isReady, isListening }: AdminOptions): RequestListener {
  const answer = async (path: string): Promise<Answer> => {
    switch (path) {
      case '/live':
        return { status: isListening() ? 200 : 500 }
      case '/ready':
        return { status: !(await isReady()) ? 503 : isListening() ? 200 : 500 }
      case '/schema_cache': {
        const { cache } = runtime.snapshot
        return { status: 200, type: 'application/json', body: cache ? JSON.stringify(toJson(cache)) : '' }
      }
      case '/config':
        return {
          status: 200,
          type: 'text/plain; charset=utf-8',
          body: dumpWithoutSecrets(runtime.snapshot.config),
        }
      case '/metrics':
        return { status: 200, type: metrics.contentType, body: await metrics.text() }
      default:
        return { status: 404 }
    }
  }
  return (request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    void answer(path).then(
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
