// Creates Express routers from tables of routes.
import type { RequestHandler, Router } from 'express'
import { exactRouter } from './exact-router.ts'
import { errorResponder, methodNotAllowed, notFound, type Failure } from './envelope.ts'
import { noteRoute } from './request-log.ts'
import type { Route, RouteTools } from './route.ts'

/** Routes that share their middleware. */
export type RouteTable = {
  readonly routes: readonly Route[]
  /** Middleware, in order, for all requests at or below the first segments of the paths: authorization and origins. */
  readonly guards: readonly RequestHandler[]
}

export type RouterOptions = RouteTools & {
  /** Receives errors that are not the client's, to log them. */
  readonly onError: (error: unknown) => void
  /** Maps other errors to responses, such as those of the database. */
  readonly failureOf: (error: unknown) => Failure | undefined
}

/**
 * A router for each first path segment of the tables, to be mounted at it; the segment of `/` is empty. The routers
 * respond to every request: with 405 and `Allow` to other methods of a path, with 404 to other paths, with errors in
 * the envelope.
 *
 * @throws Error when two tables have the same segment, two routes the same method and path, or a schema does not exist
 */
export function createRouters(tables: readonly RouteTable[], options: RouterOptions): ReadonlyMap<string, Router> {
  const routers = new Map<string, Router>()
  for (const { routes, guards } of tables) {
    for (const [segment, below] of groupBy(routes, ({ path }) => firstSegment(path))) {
      if (routers.has(segment)) throw new Error(`two tables have routes below /${segment}`)
      routers.set(segment, createRouter(segment, below, guards, options))
    }
  }
  return routers
}

function createRouter(
  segment: string,
  routes: readonly Route[],
  guards: readonly RequestHandler[],
  { onError, failureOf, ...tools }: RouterOptions,
): Router {
  const router = exactRouter()
  for (const guard of guards) router.use(guard)
  mountRoutes(router, routes, { basePath: `/${segment}`, tools, methodNotAllowed })
  router.use(notFound)
  router.use(errorResponder(onError, failureOf))
  return router
}

export type MountOptions<Tools> = {
  /** The path that the router is mounted at, `/` or without a slash at the end. All routes are at or below it. */
  readonly basePath: string
  readonly tools: Tools
  /** Creates the handler of requests with methods other than these. */
  readonly methodNotAllowed: (...allowed: readonly string[]) => RequestHandler
}

/**
 * Adds routes to a router. GET includes HEAD; all other methods of their paths are rejected.
 *
 * @throws Error when two routes have the same method and path
 */
export function mountRoutes<Tools>(
  router: Router,
  routes: readonly Route<Tools>[],
  { basePath, tools, methodNotAllowed: refuse }: MountOptions<Tools>,
): void {
  for (const [path, ofPath] of pathsInOrder(routes)) {
    const methods = ofPath.map(({ method }) => method)
    if (new Set(methods).size < methods.length) throw new Error(`two routes have the same method of ${path}`)
    const at = router.route(expressPath(basePath === '/' ? path : path.slice(basePath.length)))
    for (const route of ofPath) {
      const handle = route.prepare(tools)
      at[route.method]((request, response, next) => {
        noteRoute(response, path)
        return handle(request, response, next)
      })
    }
    at.all(refuse(...methods.flatMap(allowedBy)))
  }
}

/** The methods that a route adds to `Allow`. GET includes HEAD (RFC 9110, section 9.3.2). */
const allowedBy = (method: Route['method']): readonly string[] =>
  method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]

const firstSegment = (path: string): string => path.split('/', 2)[1] ?? ''

/** `/{id}/approval` -> `/:id/approval`; `/guide/{*topic}`, whose parameter has any number of segments, -> `/guide/*topic` */
const expressPath = (path: string): string =>
  path === '' ? '/' : path.replaceAll(/\{([^}]*)\}/g, (_, name: string) => (name.startsWith('*') ? name : `:${name}`))

/**
 * The routes by path. Fixed segments precede parameters, so that `pending` in `/report/pending` is not read as an id.
 */
function pathsInOrder<Tools>(routes: readonly Route<Tools>[]): readonly (readonly [string, readonly Route<Tools>[]])[] {
  const key = (path: string): string =>
    path
      .split('/')
      .map((segment) => (segment.startsWith('{') ? '1' : '0'))
      .join('')
  return [...groupBy(routes, ({ path }) => path)].sort(([a], [b]) => Number(key(a) > key(b)) - Number(key(a) < key(b)))
}

function groupBy<Item>(routes: readonly Item[], keyOf: (route: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>()
  for (const route of routes) groups.set(keyOf(route), [...(groups.get(keyOf(route)) ?? []), route])
  return groups
}
