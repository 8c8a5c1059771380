// Routers made from tables of routes, on Node's own requests and responses.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RequestAborted } from '../common/incomplete-request.ts'
import { noteRoute } from './request-log.ts'
import type { Route, RouteHandler, RouteTools } from './route.ts'

/** How a service reads paths, and how it answers what is no route, and errors. */
export type RouterDialect<Tools> = {
  /** Whether a path with a slash at the end is the same as that without it. */
  readonly ignoresLastSlash: (path: string) => boolean
  /** The error of a method that a path does not have. Undefined: the path with this method is unknown. */
  readonly methodNotAllowed?: (method: string, allowed: string) => Error
  /** The error of a parameter that is not percent-encoded UTF-8; by default URIError. */
  readonly undecodable?: (text: string) => Error
  /** Responds to a request for an unknown path, or throws its error. `target` is below the path of the router. */
  readonly unknownPath: (request: IncomingMessage, response: ServerResponse, target: string) => void
  /**
   * Logs an error unless it is the client's.
   *
   * @returns sends the response to it
   */
  readonly failed: (error: unknown, tools: Tools) => (response: ServerResponse) => void
}

/**
 * Goes before all routes of a router: checks a request, sets headers, or responds.
 *
 * @returns whether it has responded
 */
export type Guard = (request: IncomingMessage, response: ServerResponse, target: string) => boolean

/** Routes that share their guards. */
export type RouteTable<Tools = RouteTools> = {
  readonly routes: readonly Route<Tools>[]
  /** In order, for all requests at or below the path of the router. */
  readonly guards: readonly Guard[]
}

/** Loads routes, with everything that they import, at the first request that passes the guards. */
export type LoadRoutes<Tools> = () => Promise<RouteTable<Tools>['routes']>

export type RouterOptions<Tools> = Omit<RouteTable<Tools>, 'routes'> & {
  readonly routes: RouteTable<Tools>['routes'] | LoadRoutes<Tools>
  readonly dialect: RouterDialect<Tools>
  /** The path of the router, `/` or without a slash at the end. All routes are at or below it. */
  readonly basePath: string
  readonly tools: Tools
  /** Whether requests for unknown paths are passed on to `next`. */
  readonly passesOn?: boolean
}

/** Responds to requests. `target` is below the path of the router. */
export type Router = (request: IncomingMessage, response: ServerResponse, target: string, next?: () => void) => void

/** A router as a handler of Express, which removes the path of the router from `url`. */
export const mounted =
  (router: Router) =>
  (request: IncomingMessage, response: ServerResponse, next: () => void): void =>
    router(request, response, request.url ?? '/', next)

/** The whole target of a request, also where Express has removed the path of a router from `url`. */
export function originalTarget(request: IncomingMessage): string {
  const { originalUrl, url = '' } = request as IncomingMessage & { readonly originalUrl?: string }
  return originalUrl ?? url
}

/**
 * A router for routes of one dialect. GET includes HEAD.
 *
 * @throws Error when two routes have the same method and path, or a schema does not exist
 */
export function createRouter<Tools>(options: RouterOptions<Tools>): Router {
  const { dialect, guards, tools, passesOn = false } = options
  const finder = loadedFinder(options)
  const answer = async (
    request: IncomingMessage,
    response: ServerResponse,
    target: string,
    next?: () => void,
  ): Promise<void> => {
    for (const guard of guards) if (guard(request, response, target)) return
    const loaded = finder()
    const find = loaded instanceof Promise ? await loaded : loaded
    const found = find(request.method ?? '', target)
    if (found) {
      const { path, handle, parameters } = found
      noteRoute(response, path)
      await handle(request, response, { parameters, target })
    } else if (passesOn && next) next()
    else dialect.unknownPath(request, response, target)
  }
  return (request, response, target, next) => {
    answer(request, response, target, next).catch((error: unknown) => {
      if (error instanceof RequestAborted) return
      try {
        const respond = dialect.failed(error, tools)
        if (response.headersSent) response.destroy()
        else respond(response)
      } catch (unanswerable) {
        // Nothing waits for this promise: an error here would end the process.
        console.error(unanswerable)
        response.destroy()
      }
    })
  }
}

/**
 * A router for each first path segment of the tables, to be mounted at it; the segment of `/` is empty.
 *
 * @throws Error when two tables have the same segment; the errors of `createRouter`
 */
export function createRouters<Tools>(
  tables: readonly RouteTable<Tools>[],
  options: Pick<RouterOptions<Tools>, 'dialect' | 'tools'>,
): ReadonlyMap<string, Router> {
  const routers = new Map<string, Router>()
  for (const { routes, guards } of tables) {
    for (const [segment, below] of groupBy(routes, ({ path }) => path.split('/', 2)[1] ?? '')) {
      if (routers.has(segment)) throw new Error(`two tables have routes below /${segment}`)
      routers.set(segment, createRouter({ ...options, basePath: `/${segment}`, routes: below, guards }))
    }
  }
  return routers
}

type PathEntry = {
  /** With the names of its parameters. */
  readonly path: string
  readonly segments: readonly string[]
  readonly handlers: ReadonlyMap<string, RouteHandler>
}

type Found = {
  readonly path: string
  readonly handle: RouteHandler
  readonly parameters: Readonly<Record<string, string>>
}

/** Finds the route of a request. Throws the error of the dialect for another method of a path. */
type Finder = (method: string, target: string) => Found | undefined

/** Returns the finder, or a promise of it until its routes are loaded. */
function loadedFinder<Tools>(options: RouterOptions<Tools>): () => Finder | Promise<Finder> {
  const { routes } = options
  if (typeof routes !== 'function') {
    const finder = finderOf(options, routes)
    return () => finder
  }
  let finder: Finder | Promise<Finder> | undefined
  return () => (finder ??= routes().then((loaded) => (finder = finderOf(options, loaded))))
}

function finderOf<Tools>(options: RouterOptions<Tools>, routes: RouteTable<Tools>['routes']): Finder {
  const { ignoresLastSlash, methodNotAllowed, undecodable } = options.dialect
  const entries = entriesOf(options, routes)
  const methods = new Set(entries.flatMap(({ handlers }) => [...handlers.keys()]))
  const byMethod = new Map([...methods].map((it) => [it, entries.filter(({ handlers }) => handlers.has(it))]))
  return (method, target) => {
    const end = target.indexOf('?')
    const whole = end < 0 ? target : target.slice(0, end)
    const path = whole.length > 1 && whole.endsWith('/') && ignoresLastSlash(whole) ? whole.slice(0, -1) : whole
    const given = segmentsOf(path)
    for (const entry of methodNotAllowed ? entries : (byMethod.get(method) ?? [])) {
      const parameters = match(entry.segments, given, undecodable)
      if (!parameters) continue
      const handle = entry.handlers.get(method)
      if (handle) return { path: entry.path, handle, parameters }
      if (methodNotAllowed) throw methodNotAllowed(method, [...entry.handlers.keys()].join(', '))
    }
    return undefined
  }
}

/** The paths in the order in which they are tried. */
function entriesOf<Tools>(
  { basePath, tools }: RouterOptions<Tools>,
  routes: RouteTable<Tools>['routes'],
): readonly PathEntry[] {
  const start = basePath === '/' ? 0 : basePath.length
  return [...groupBy(routes, ({ path }) => path)]
    .map(([path, ofPath]) => {
      const methods = new Set(ofPath.map(({ method }) => method))
      if (methods.size < ofPath.length) throw new Error(`two routes have the same method of ${path}`)
      const handlers = new Map<string, RouteHandler>()
      for (const { method, prepare } of ofPath) {
        const handle = prepare(tools)
        handlers.set(method.toUpperCase(), handle)
        // RFC 9110, section 9.3.2
        if (method === 'get' && !methods.has('head')) handlers.set('HEAD', handle)
      }
      return { path, segments: segmentsOf(path.slice(start)), handlers }
    })
    .sort(bySpecificity)
}

const segmentsOf = (path: string): readonly string[] => (path || '/').split('/').slice(1)

const rank = (segment: string): string => (segment.startsWith('{*') ? '2' : segment.startsWith('{') ? '1' : '0')

/** Fixed segments precede parameters, which precede those for several segments. */
function bySpecificity({ segments: one }: PathEntry, { segments: other }: PathEntry): number {
  const [a = '', b = ''] = [one, other].map((segments) => segments.map(rank).join(''))
  return a === b ? 0 : a < b ? -1 : 1
}

/** The parameters of a path, if it matches. Encoded slashes do not separate segments, but are slashes of a name. */
function match(
  segments: readonly string[],
  given: readonly string[],
  undecodable?: (text: string) => Error,
): Record<string, string> | undefined {
  const parameters: Record<string, string> = {}
  for (const [index, segment] of segments.entries()) {
    const value = given[index]
    if (value === undefined) return undefined
    if (segment.startsWith('{*')) {
      parameters[segment.slice(2, -1)] = given.slice(index).join('/')
      return allDecoded(parameters, undecodable)
    }
    if (segment.startsWith('{')) {
      if (value === '') return undefined
      parameters[segment.slice(1, -1)] = value
    } else if (segment !== value) return undefined
  }
  return given.length === segments.length ? allDecoded(parameters, undecodable) : undefined
}

function allDecoded(parameters: Record<string, string>, undecodable?: (text: string) => Error): Record<string, string> {
  for (const [name, text] of Object.entries(parameters)) parameters[name] = decoded(text, undecodable)
  return parameters
}

function decoded(text: string, undecodable?: (text: string) => Error): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    throw undecodable ? undecodable(text) : error
  }
}

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}
