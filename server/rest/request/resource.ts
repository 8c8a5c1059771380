// The resource that a path names, and the action of a method on it.
import { errors } from '../errors.ts'
import type { Action } from './api-request.ts'
import { lenientUtf8Text } from './query-string.ts'
import { remembering } from './remembered.ts'

/** The resource that a path names. */
export type Resource =
  | { readonly kind: 'root' }
  | { readonly kind: 'relation'; readonly name: string }
  | { readonly kind: 'routine'; readonly name: string }

const escape = /%[0-9A-Fa-f]{2}/g

const decodeSegment = (segment: string): string =>
  lenientUtf8Text(
    segment.includes('%')
      ? segment.replace(escape, (text) => String.fromCharCode(Number.parseInt(text.slice(1), 16)))
      : segment,
  )

const callPath = /^\/(?:r|%72)(?:p|%70)(?:c|%63)\//

/** Whether a path is below `/rpc/`, however the client has written the letters. */
export const isCallPath = (path: string): boolean => callPath.test(path)

/** The percent-decoded segments of a path. A slash at the end begins an empty segment; `/` has no segments. */
export function pathSegments(path: string): string[] {
  if (path === '' || path === '/') return []
  return (path.startsWith('/') ? path.slice(1) : path).split('/').map(decodeSegment)
}

/**
 * Parses a path: `/`, `/name` or `/rpc/name`.
 * @throws PGRST125 for any other path
 */
export const parseResource = (path: string): Resource => resources(path, 'rejected')

const resources = remembering(resourceOf)

function resourceOf(path: string): Resource {
  const [first, second, ...others] = pathSegments(path)
  if (first === undefined) return { kind: 'root' }
  if (second === undefined) return { kind: 'relation', name: first }
  if (first === 'rpc' && others.length === 0) return { kind: 'routine', name: second }
  throw errors.path()
}

/**
 * The action of a method on a resource.
 * @throws PGRST101 and PGRST117 for unsupported methods
 */
export function chooseAction(resource: Resource, schema: string, method: string): Action {
  switch (resource.kind) {
    case 'routine':
      return routineAction(schema, resource.name, method)
    case 'relation':
      return relationAction(schema, resource.name, method)
    case 'root':
      switch (method) {
        case 'GET':
        case 'HEAD':
          return { kind: 'inspect', schema, headersOnly: method === 'HEAD' }
        case 'OPTIONS':
          return { kind: 'schema-info' }
        default:
          throw errors.method(method)
      }
    default:
      return resource satisfies never
  }
}

function routineAction(schema: string, name: string, method: string): Action {
  const routine = { schema, name }
  switch (method) {
    case 'GET':
      return { kind: 'call', routine, method: 'get' }
    case 'HEAD':
      return { kind: 'call', routine, method: 'head' }
    case 'POST':
      return { kind: 'call', routine, method: 'post' }
    case 'OPTIONS':
      return { kind: 'routine-info', routine }
    default:
      throw errors.routineMethod(method)
  }
}

function relationAction(schema: string, name: string, method: string): Action {
  const relation = { schema, name }
  switch (method) {
    case 'GET':
    case 'HEAD':
      return { kind: 'read', relation, headersOnly: method === 'HEAD' }
    case 'POST':
      return { kind: 'mutate', relation, mutation: 'create' }
    case 'PUT':
      return { kind: 'mutate', relation, mutation: 'single-upsert' }
    case 'PATCH':
      return { kind: 'mutate', relation, mutation: 'update' }
    case 'DELETE':
      return { kind: 'mutate', relation, mutation: 'delete' }
    case 'OPTIONS':
      return { kind: 'relation-info', relation }
    default:
      throw errors.method(method)
  }
}
