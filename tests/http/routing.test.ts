// How each service reads paths and methods, over all of its routes: what is a route, what is not, and what is answered then.
import t from 'tap'
import { analysisRoutes } from '../../server/services/analysis/analysis-routes.ts'
import { authRoutes } from '../../server/services/auth/auth-table.ts'
import { storageRoutes } from '../../server/services/storage/storage-table.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { cookieSettings } from '../support/mailing-service.ts'
import { RawConnection, requestHead } from '../support/raw-connection.ts'
import { tables } from '../support/service-routes.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const analysisPath = '/api/v1/water-hyacinth'
const { url } = await startApplication(t, database.authenticatorUri, {
  ...cookieSettings,
  STORAGE_FILE_BACKEND_PATH: t.testdir(),
  GOTRUE_RATE_LIMIT_VERIFY: '10000',
  GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '10000',
})

type Answer = { readonly status: number; readonly allow: string | undefined; readonly body: unknown }

const connection = new RawConnection(url)
t.teardown(() => connection.close())

/** Sends a target as it is, without a body. */
async function ask(method: string, target: string): Promise<Answer> {
  const head = requestHead(method, target, [['Host', 'example.org']])
  const { status, headers, body } = await connection.send({ head, body: '', isHead: method === 'HEAD' })
  const header = (name: string): string | undefined => headers.find(([given]) => given === name)?.[1]
  const isJson = header('content-type')?.includes('json') === true && body !== ''
  return { status, allow: header('allow'), body: isJson ? (JSON.parse(body) as unknown) : body }
}

type Listed = { readonly method: string; readonly path: string }

/** What a service answers where it has no route, and how it reads paths. */
type Reading = {
  readonly routes: readonly Listed[]
  readonly unknownPath: (method: string, target: string) => { readonly status: number; readonly body: unknown }
  /** Undefined: a path with another method is an unknown path. */
  readonly wrongMethod?: (method: string) => { readonly status: number; readonly body: unknown }
  /** A parameter that is not percent-encoded UTF-8; undefined where no route has parameters. */
  readonly undecodable?: unknown
  readonly ignoresTrailingSlash: boolean
}

const envelope: Omit<Reading, 'routes'> = {
  unknownPath: (method, target) => ({
    status: 404,
    body: { status: 'fail', statusCode: 404, message: `Cannot ${method} ${target}`, error: 'Not Found' },
  }),
  wrongMethod: (method) => ({
    status: 405,
    body: { status: 'fail', statusCode: 405, message: `The method ${method} is not allowed here` },
  }),
  undecodable: { status: 'fail', statusCode: 400, message: 'The address is not valid' },
  ignoresTrailingSlash: true,
}

const isPage = ({ path }: Listed): boolean => path.startsWith('/docs/')

const services: Readonly<Record<string, Reading>> = {
  accounts: { ...envelope, routes: tables.flatMap(({ routes }) => routes).filter((route) => !isPage(route)) },
  auth: {
    routes: authRoutes,
    unknownPath: () => ({ status: 404, body: { code: 404, error_code: 'unknown', msg: 'Not Found' } }),
    wrongMethod: () => ({ status: 405, body: { code: 405, error_code: 'unknown', msg: 'Method Not Allowed' } }),
    undecodable: { code: 400, error_code: 'validation_failed', msg: 'The address is not valid' },
    ignoresTrailingSlash: true,
  },
  storage: {
    routes: storageRoutes,
    unknownPath: (method, target) => {
      const below = target.slice('/storage/v1'.length)
      const isOfStorage = /^\/(?:bucket|object|render|vector|cdn)(?:\/|$)/.test(below)
      const message = { error: 'Not Found', message: `Route ${method}:${below} not found` }
      return {
        status: 404,
        body: isOfStorage ? { ...message, statusCode: '404', code: 'InvalidRequest' } : { ...message, statusCode: 404 },
      }
    },
    undecodable: { statusCode: '400', error: 'InvalidKey', message: 'Invalid key: %zz', code: 'InvalidKey' },
    ignoresTrailingSlash: false,
  },
  analysis: {
    routes: analysisRoutes(analysisPath),
    unknownPath: () => ({ status: 404, body: { detail: 'Not Found' } }),
    wrongMethod: () => ({ status: 405, body: { detail: 'Method Not Allowed' } }),
    ignoresTrailingSlash: true,
  },
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']
const id = '00000000-0000-4000-8000-000000000000'
const filled = (path: string, value = id): string => path.replaceAll(/\{[^}]*\}/g, value)
const pathsOf = (routes: readonly Listed[]): readonly string[] => [...new Set(routes.map(({ path }) => path))]

/** Whether one of these routes has the path. */
const isAny = (path: string, routes: readonly Listed[]): boolean =>
  routes.some((route) =>
    new RegExp(`^${route.path.replaceAll(/\{\*[^}]*\}/g, '.*').replaceAll(/\{[^}]*\}/g, '[^/]+')}$`).test(path),
  )

for (const [name, { routes, unknownPath, wrongMethod, undecodable, ignoresTrailingSlash }] of Object.entries(
  services,
)) {
  t.test(`${name}: other methods`, async (t) => {
    for (const path of pathsOf(routes)) {
      const own = routes.filter((route) => route.path === path).map(({ method }) => method.toUpperCase())
      const allowed = own.flatMap((method) => (method === 'GET' && !own.includes('HEAD') ? ['GET', 'HEAD'] : [method]))
      const target = filled(path)
      for (const method of methods) {
        if (allowed.includes(method) || method === 'HEAD') continue
        const { allow, ...answer } = await ask(method, target)
        if (wrongMethod) {
          t.strictSame({ allow, ...answer }, { allow: allowed.join(', '), ...wrongMethod(method) }, `${method} ${path}`)
        } else if (
          !isAny(
            target,
            routes.filter((route) => route.method.toUpperCase() === method),
          )
        ) {
          t.strictSame({ allow, ...answer }, { allow, ...unknownPath(method, target) }, `${method} ${path}`)
        }
      }
    }
  })

  t.test(`${name}: HEAD is GET without a body`, async (t) => {
    for (const { method, path } of routes) {
      if (method !== 'get' || path.endsWith('/callback')) continue
      const [get, head] = [await ask('GET', filled(path)), await ask('HEAD', filled(path))]
      t.strictSame([head.status, head.body], [get.status, ''], path)
    }
  })

  t.test(`${name}: a slash at the end`, async (t) => {
    for (const { method: lower, path } of routes) {
      const method = lower.toUpperCase()
      if (path.includes('{') || path === '/' || path === '/storage/v1/bucket') continue
      const target = `${path}/`
      if (!ignoresTrailingSlash && isAny(target, routes)) continue
      const expected = ignoresTrailingSlash ? await ask(method, path) : unknownPath(method, target)
      t.match(await ask(method, target), expected, `${method} ${target}`)
    }
  })

  t.test(`${name}: another case, and characters that need no encoding`, async (t) => {
    for (const { method: lower, path } of routes) {
      const method = lower.toUpperCase()
      const start = path.lastIndexOf('/') + 1
      const last = path.slice(start)
      if (!/^[a-z]/.test(last) || path === analysisPath) continue
      const encoded = `%${last.charCodeAt(0).toString(16)}${last.slice(1)}`
      for (const other of [last.charAt(0).toUpperCase() + last.slice(1), last.toUpperCase(), encoded]) {
        const target = filled(path.slice(0, start) + other)
        if (isAny(target, routes)) continue
        const { status, body } = await ask(method, target)
        t.strictSame({ status, body }, unknownPath(method, target), `${method} ${target}`)
      }
    }
  })

  t.test(`${name}: parameters that are not percent-encoded UTF-8`, async (t) => {
    for (const { method, path } of routes) {
      if (!path.includes('{') || method === 'head') continue
      const { status, body } = await ask(method.toUpperCase(), filled(path, '%zz'))
      t.strictSame({ status, body }, { status: 400, body: undecodable }, `${method} ${path}`)
    }
  })
}

t.test('single paths', async (t) => {
  const rows: readonly (readonly [method: string, target: string, status: number, body?: unknown])[] = [
    ['GET', '/report//', 401],
    ['GET', '/report/pending/', 401],
    ['GET', '/report/pending//', 404],
    ['GET', '/report//pending', 404],
    ['GET', '/report/a%2Fb', 401],
    ['GET', '/auth', 404, { message: 'Cannot GET /auth' }],
    ['GET', '/auth/?x', 404, { message: 'Cannot GET /auth/' }],
    ['GET', '/auth/v1', 404, { msg: 'Not Found' }],
    ['GET', '/auth/v1/', 404, { msg: 'Not Found' }],
    ['GET', '/auth/v1/settings/', 200],
    ['GET', '/auth/v1/settings//', 404],
    ['GET', '/storage/v1', 404, { message: 'Route GET: not found', statusCode: 404 }],
    ['GET', '/storage/v1/bucket/', 400, { statusCode: '403' }],
    ['GET', '/storage/v1/status/', 404],
    ['GET', '/storage/v1/object/public/b/a%2Fb', 400, { statusCode: '404' }],
    ['GET', '/storage/v1/object/public/b/', 400],
    ['GET', '/storage/v1/object/public//b', 400],
    ['GET', '/storage/v1/s3', 501],
    ['GET', '/docs', 302],
    ['GET', '/docs/guide', 302],
    ['GET', '/docs/x', 404, { message: 'Cannot GET /docs/x' }],
    ['GET', '/health/', 200],
    ['GET', `${analysisPath}/docs/`, 200],
    ['GET', `${analysisPath}/docs/x`, 404, { message: `Cannot GET ${analysisPath}/docs/x` }],
    ['POST', `${analysisPath}/docs/`, 405, { detail: 'Method Not Allowed' }],
    ['GET', `${analysisPath}/nope`, 404, { detail: 'Not Found' }],
  ]
  for (const [method, target, status, body] of rows) {
    t.match(await ask(method, target), { status, ...(body === undefined ? {} : { body }) }, `${method} ${target}`)
  }
})
