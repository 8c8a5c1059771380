// The admin server on a separate port, compatible with PostgREST 16.
// https://docs.postgrest.org/en/stable/references/admin_server.html
import type { RequestListener } from 'node:http'
import { archiveAge, archiveConditionOf, type ArchiveStatus } from '../../postgres/backup/archive-status.ts'
import { toJson } from '../../catalogue/json.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import { serverName } from '../../common/version.ts'
import { wantsOpenMetrics } from './exposition.ts'
import type { Metrics } from './metrics.ts'

export type AdminOptions = {
  /** Undefined until it is loaded. */
  readonly schemaCache: () => SchemaCache | undefined
  readonly metrics: Pick<Metrics, 'expose'>
  /** Whether requests can be served: the schema cache is loaded, and the database is available. */
  readonly isReady: () => Promise<boolean>
  /** Whether the API server accepts requests. */
  readonly isListening: () => boolean
  /** How far the archive of the write-ahead log is; undefined if the server has none. */
  readonly archive?: (() => ArchiveStatus) | undefined
}

type Answer = { readonly status: number; readonly type?: string; readonly body?: string }

/**
 * `/live`, `/ready`, `/schema_cache` and `/metrics`, as PostgREST has them, and `/archive`; any other path is 404. Of PostgREST's,
 * only the metrics have a `Content-Type`.
 *
 * `/live` is 500 while the API server does not accept requests. `/ready` is 503 without a schema cache or database, and
 * otherwise the same as `/live`. `/archive` is 503 while the archive of the write-ahead log is behind or stopped, which is no
 * reason to send requests elsewhere, and 404 without an archive.
 */
export function createAdmin({ schemaCache, metrics, isReady, isListening, archive }: AdminOptions): RequestListener {
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
      case '/archive':
        return archive ? archiveAnswer(archive(), Date.now()) : { status: 404 }
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

/** @param now milliseconds since 1970 */
function archiveAnswer(status: ArchiveStatus, now: number): Answer {
  const { until, position, behind, bytes, segments, failures, gaps, error } = status
  const condition = archiveConditionOf(status, now)
  const body = JSON.stringify({
    status: condition,
    until: until === null ? null : new Date(until).toISOString(),
    ageSeconds: Math.round(archiveAge(status, now) * 10) / 10,
    position,
    behindBytes: behind,
    bytes,
    segments,
    failures,
    gaps,
    ...(error === undefined ? {} : { error }),
  })
  return { status: condition === 'archiving' ? 200 : 503, type: 'application/json; charset=utf-8', body }
}
