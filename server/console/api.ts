// Requests of the console: to its own routes, and to the services as an ordinary client.
import type { ChangeNote, ConsoleSession, TokenRequest, ViewerToken } from '../services/console/protocol.ts'

/** An error response, in the words of the service that sent it. */
export class ApiProblem extends Error {
  readonly status: number
  readonly code: string | null
  readonly details: string | null
  readonly hint: string | null
  /** The line of an import. */
  readonly line: number | null
  /** What is wrong with each field, by name. */
  readonly fieldErrors: Readonly<Record<string, string>>

  constructor(status: number, body: unknown, fallback: string) {
    const { message, msg, error, error_description, detail, code, error_code, details, hint, line } = recordOf(body)
    super(firstText(message, msg, error_description, error, detail) ?? fallback)
    this.name = 'ApiProblem'
    this.status = status
    this.code = firstText(error_code, code) ?? null
    this.hint = firstText(hint) ?? null
    this.line = typeof line === 'number' ? line : null
    const fields = Array.isArray(details) ? pointed(details) : recordOf(recordOf(details).fieldErrors)
    this.fieldErrors = Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, String(text)]))
    this.details = firstText(details) ?? null
  }
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

/** What a JSON Schema refuses: faults with the pointer to the value. */
const pointed = (faults: readonly unknown[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    faults.map((fault) => {
      const { pointer, message } = recordOf(fault)
      return [firstText(pointer) ?? '', firstText(message) ?? '']
    }),
  )

const firstText = (...values: readonly unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && value !== '')

/** The server's address, with a slash at the end. The console is one level below it. */
export const serverUrl: string = new URL('../', location.href.split(/[?#]/, 1)[0]).href

let session: ConsoleSession | undefined
const endings = new Set<() => void>()

/** Sets the session whose token is sent with all requests to the console's own routes. */
export function useSessionForRequests(current: ConsoleSession | undefined): void {
  session = current
  tokens.clear()
}

/** Calls `listener` when the server no longer accepts the session. */
export function onSessionEnd(listener: () => void): () => void {
  endings.add(listener)
  return () => endings.delete(listener)
}

export type ApiInit = {
  readonly method?: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
  /** Whether a POST changes nothing, such as a search. */
  readonly isRead?: boolean
}

/**
 * Calls a route of the console.
 *
 * @param path below `/console/api/`
 * @returns the details of the response
 * @throws ApiProblem
 */
export async function consoleApi<T>(path: string, init: ApiInit = {}): Promise<T> {
  const response = await consoleResponse(path, init)
  return ((await response.json()) as { readonly details: T }).details
}

/** The same as a response, whose body is read by the caller, such as a stream of events. */
export async function consoleResponse(path: string, { method = 'GET', body, signal }: ApiInit = {}): Promise<Response> {
  const response = await fetch(new URL(`console/api/${path}`, serverUrl), {
    method,
    headers: {
      ...(session ? { 'X-Console-Token': session.token } : {}),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  })
  if (response.ok) return response
  if (response.status === 401 && session) for (const listener of endings) listener()
  throw await problemOf(response)
}

/** As whom a request is sent. `label` is shown to people. */
export type Viewer =
  | { readonly kind: 'role'; readonly role: string }
  | { readonly kind: 'user'; readonly id: string; readonly label: string }

const requestOf = (viewer: Viewer): TokenRequest =>
  viewer.kind === 'role' ? { role: viewer.role } : { user: viewer.id }

const keyOf = (viewer: Viewer): string => JSON.stringify(requestOf(viewer))

/** Tokens by viewer, in memory only. */
const tokens = new Map<string, Promise<ViewerToken>>()

/** Seconds before its end at which a token is replaced. */
const margin = 30

/**
 * A token of the viewer, for clients that send it themselves.
 *
 * @throws ApiProblem
 */
export async function viewerToken(viewer: Viewer): Promise<string> {
  const key = keyOf(viewer)
  const known = await tokens.get(key)
  if (known && known.expires_at - margin > Date.now() / 1000) return known.token
  const wanted = consoleApi<ViewerToken>('tokens', { method: 'POST', body: requestOf(viewer) })
  tokens.set(key, wanted)
  wanted.catch(() => tokens.delete(key))
  return (await wanted).token
}

/**
 * Sends a request as the viewer.
 *
 * @param path below the server's address, without a leading slash: `rest/v1/profiles`
 * @throws ApiProblem for any status that is not 2xx
 */
export async function fetchAs(
  viewer: Viewer,
  path: string,
  { isRead = false, ...init }: RequestInit & Pick<ApiInit, 'isRead'> = {},
): Promise<Response> {
  const { method = 'GET' } = init
  if (!isRead && method !== 'GET' && method !== 'HEAD') await noteChange(viewer, method, path)
  const headers = new Headers(init.headers)
  headers.set('Authorization', `Bearer ${await viewerToken(viewer)}`)
  const response = await fetch(new URL(path, serverUrl), { ...init, headers, credentials: 'omit', cache: 'no-store' })
  if (response.ok) return response
  throw await problemOf(response)
}

/** Adds a change that is about to be requested to the log of changes. @throws ApiProblem */
export async function noteChange(viewer: Viewer, method: string, path: string): Promise<void> {
  const body: ChangeNote = { method, path: path.slice(0, longestPath), as: requestOf(viewer) }
  await consoleApi('changes', { method: 'POST', body })
}

/** Characters of the path of a change that are recorded. */
const longestPath = 2000

/** The same with a JSON body and a JSON response; undefined if the response has no body. */
export async function jsonAs<T>(
  viewer: Viewer,
  path: string,
  { method = 'GET', body, signal, isRead = false }: ApiInit = {},
): Promise<T> {
  const response = await fetchAs(viewer, path, {
    method,
    isRead,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    ...(signal ? { signal } : {}),
  })
  const text = await response.text()
  return (text === '' ? undefined : JSON.parse(text)) as T
}

/** The role that bypasses all policies. Pages that use it say so. */
export const serviceRole: Viewer = { kind: 'role', role: 'service_role' }

/** The error of a response. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const text = await response.text().catch(() => '')
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = undefined
  }
  return new ApiProblem(response.status, body, `${response.status} ${response.statusText}`.trim())
}
