// The router of `/storage/v1`, on Node's own requests and responses: Express would take longer than a small download.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerCrossOrigin, tokenRules, type CrossOriginRules } from '../../http/cross-origin.ts'
import { noteRoute } from '../../http/request-log.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import type { StorageContext } from './storage-context.ts'
import { storageErrors } from './storage-error.ts'
import { sendS3Refusal } from './s3-refusal.ts'
import { sendStorageError, sendStorageJson } from './storage-response.ts'
import { storagePath, type StorageRequest, type StorageRoute } from './storage-route.ts'

export type StorageHandler = (request: IncomingMessage, response: ServerResponse) => void

export type StorageRouterOptions = {
  readonly context: StorageContext
  readonly routes: readonly StorageRoute[]
  readonly validator: { readonly forDto: (id: string) => DtoValidator }
  /** Origins that may use the service; empty for every origin. */
  readonly allowedOrigins: () => readonly string[]
}

type PreparedRoute = {
  readonly path: string
  readonly segments: readonly string[]
  readonly handle: (request: StorageRequest) => Promise<void>
}

/** All headers are allowed as requested: metadata and resumable uploads have many. */
const crossOriginRules: CrossOriginRules = {
  ...tokenRules,
  exposed: [
    'Content-Range',
    'ETag',
    'X-Transformations',
    'Location',
    'Upload-Offset',
    'Upload-Length',
    'Upload-Metadata',
    'Upload-Expires',
    'Tus-Version',
    'Tus-Resumable',
    'Tus-Max-Size',
    'Tus-Extension',
    'Tus-Checksum-Algorithm',
    'Upload-Defer-Length',
  ].join(', '),
}

/** Responds to every request to a target below `/storage/v1`. */
export function storageRouter({ context, routes, validator, allowedOrigins }: StorageRouterOptions): StorageHandler {
  const table = new Map<string, PreparedRoute[]>()
  const withHead = new Set(routes.filter(({ method }) => method === 'head').map(({ path }) => path))
  for (const route of [...routes].sort(bySpecificity)) {
    const prepared = {
      path: storagePath + route.path,
      segments: segmentsOf(route.path),
      handle: route.prepare({ context, validator }),
    }
    const isAlsoHead = route.method === 'get' && !withHead.has(route.path)
    for (const method of [route.method.toUpperCase(), ...(isAlsoHead ? ['HEAD'] : [])]) {
      table.set(method, [...(table.get(method) ?? []), prepared])
    }
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (answerCrossOrigin(request, response, allowedOrigins(), crossOriginRules)) return
    const target = (request.url ?? '').slice(storagePath.length)
    const end = target.indexOf('?')
    const given = segmentsOf(withoutSlash(end < 0 ? target : target.slice(0, end)))
    for (const { path: route, segments, handle } of table.get(request.method ?? '') ?? []) {
      const path = match(segments, given)
      if (path === undefined) continue
      noteRoute(response, route)
      const query = new URLSearchParams(end < 0 ? '' : target.slice(end + 1))
      await handle({ request, response, path, query, target })
      return
    }
    if (given[0] === 's3') sendS3Refusal(response)
    else if (services.has(given[0] ?? '')) throw storageErrors.notFound(request.method ?? '', target)
    else sendUnknown(response, request.method ?? '', target)
  }
  return (request, response) => {
    answer(request, response).catch((error: unknown) => sendStorageError(response, error, context.onError))
  }
}

/** Below these, an unknown route has an error of storage; elsewhere it has that of the original's HTTP framework. */
const services: ReadonlySet<string> = new Set(['bucket', 'object', 'render', 'vector', 'cdn'])

function sendUnknown(response: ServerResponse, method: string, target: string): void {
  const { message, error, statusCode } = storageErrors.notFound(method, target)
  sendStorageJson(response, statusCode, JSON.stringify({ message, error, statusCode }))
}

/** Some clients end the address of the buckets with a slash. */
const withoutSlash = (path: string): string => (path === '/bucket/' ? '/bucket' : path)

const segmentsOf = (path: string): readonly string[] => path.split('/').slice(1)

const rank = (segment: string): string => (segment.startsWith('{*') ? '2' : segment.startsWith('{') ? '1' : '0')

/** Fixed segments precede parameters, which precede those for several segments. */
function bySpecificity(one: StorageRoute, other: StorageRoute): number {
  const [a, b] = [one, other].map(({ path }) => segmentsOf(path).map(rank).join(''))
  return a === b ? 0 : (a ?? '') < (b ?? '') ? -1 : 1
}

/** The parameters of a path, if it matches. Encoded slashes do not separate segments, but are slashes of a name. */
function match(segments: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  const path: Record<string, string> = {}
  for (const [index, segment] of segments.entries()) {
    const value = given[index]
    if (value === undefined) return undefined
    if (segment.startsWith('{*')) {
      path[segment.slice(2, -1)] = decoded(given.slice(index).join('/'))
      return path
    }
    if (segment.startsWith('{')) {
      if (value === '') return undefined
      path[segment.slice(1, -1)] = decoded(value)
    } else if (segment !== value) return undefined
  }
  return given.length === segments.length ? path : undefined
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw storageErrors.invalidKey(text.slice(0, 1024))
  }
}
