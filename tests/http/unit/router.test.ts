// Routers made from tables of routes.
import express from 'express'
import t, { type Test } from 'tap'
import type { Identity } from '../../../server/identity/identity.ts'
import { Failure } from '../../../server/http/envelope.ts'
import {
  defineEnvelopeRoute,
  envelopeBodyReader,
  envelopeDialect,
  type Access,
} from '../../../server/http/envelope-dialect.ts'
import { uuidParameter } from '../../../server/http/path-id.ts'
import type { Route } from '../../../server/http/route.ts'
import { createRouters, mounted, type RouteTable } from '../../../server/http/router.ts'
import { dto, success } from '../../../server/http/service-response.ts'
import { operationTables } from '../../../server/running/operations/operation-routes.ts'
import { createValidator } from '../../../server/validation/validator.ts'
import { caller, type Call } from '../../support/call.ts'
import { listen } from '../../support/listening.ts'

const validator = await createValidator()
const logged: unknown[] = []
const options = {
  dialect: envelopeDialect,
  tools: {
    validator,
    readBody: envelopeBodyReader(1000),
    onError: (error: unknown) => logged.push(error),
    failureOf: () => undefined,
  },
}

async function serve(t: Test, tables: readonly RouteTable[]): Promise<Call> {
  const root = express()
  for (const [segment, router] of createRouters(tables, options)) root.use(`/${segment}`, mounted(router))
  return caller(await listen(t, root as Parameters<typeof listen>[1]))
}

const everyone: Access<Identity> = {
  security: [],
  errors: { 401: { description: 'No.' } },
  identify: ({ headers }) => {
    if (headers.authorization === 'no') throw new Failure(401, 'No')
    return { role: String(headers.authorization), claims: {} }
  },
}
const described = { id: 'x', tag: 'things', summary: 'x', access: everyone }
const id = uuidParameter('Which.', 'first')
const answerOf = success(200, 'Fine.', {})

const things: readonly Route[] = [
  defineEnvelopeRoute({
    ...described,
    method: 'get',
    path: '/things/{id}',
    pathParameters: { id },
    success: answerOf,
    handler: ({ path }) => ({ details: path }),
  }),
  defineEnvelopeRoute({
    ...described,
    method: 'get',
    path: '/things/all',
    query: {
      schema: dto<{ readonly limit?: number }>('ListReportsQuery'),
      parameters: { limit: 'How many.' },
      required: false,
      numeric: ['limit'],
    },
    success: answerOf,
    handler: ({ query, caller: { role } }) => ({ details: { ...query, role } }),
  }),
  defineEnvelopeRoute({
    ...described,
    method: 'patch',
    path: '/things/{id}',
    pathParameters: { id },
    body: dto<{ readonly approved: boolean }>('ApprovalDto'),
    success: success(202, 'Fine.', {}),
    handler: ({ body, path, response }) => {
      response.setHeader('X-Thing', path.id)
      return { details: body }
    },
  }),
  defineEnvelopeRoute({
    ...described,
    method: 'post',
    path: '/things',
    success: answerOf,
    handler: () => {
      throw new Error('a secret')
    },
  }),
]

t.test('request -> response', async (t) => {
  const call = await serve(t, [{ guards: [], routes: things }])
  const uuid = '00000000-0000-4000-8000-00000000000A'
  const json = { approved: true }
  const rows: readonly (readonly [string, string, unknown, number, object])[] = [
    ['GET', `/things/${uuid}`, undefined, 200, { details: { id: uuid.toLowerCase() } }],
    ['GET', '/things/first', undefined, 200, { details: { id: 'first' } }],
    ['GET', '/things/all?limit=7', undefined, 200, { details: { limit: 7, role: 'undefined' } }],
    ['GET', '/things/all?limit=0', undefined, 400, { details: { fieldErrors: { limit: /./ } } }],
    ['GET', '/things/1', undefined, 400, { details: { fieldErrors: { id: 'must be a UUID' } } }],
    ['PATCH', '/things/first', json, 202, { details: json }],
    ['PATCH', '/things/first', {}, 400, { details: { fieldErrors: { approved: /./ } } }],
    ['PATCH', '/things/1', {}, 400, { details: { fieldErrors: { id: /./ } } }],
    ['POST', '/things', undefined, 500, { status: 'error', message: 'Something went wrong on the server' }],
    ['DELETE', '/things/first', undefined, 405, { message: /DELETE/ }],
    ['POST', '/things/all', undefined, 405, {}],
    ['GET', '/things/first/more', undefined, 404, { message: 'Cannot GET /things/first/more' }],
  ]
  for (const [method, path, body, status, answer] of rows) {
    const given = await call(method, path, { body })
    t.equal(given.status, status, `${method} ${path}`)
    t.match(given.body, answer, `${method} ${path}`)
  }
  t.match(logged, [{ message: 'a secret' }])
  t.equal((await call('DELETE', '/things/first')).headers.get('allow'), 'GET, HEAD, PATCH')
  t.equal((await call('PATCH', '/things/first', { body: json })).headers.get('x-thing'), 'first')
  const refused = await call('PATCH', '/things/1', { body: '{', headers: { Authorization: 'no' } })
  t.equal(refused.status, 401, 'the caller comes before anything of the request')
})

t.test('odd paths and queries', async (t) => {
  const call = await serve(t, [{ guards: [], routes: things }])
  const rows: readonly (readonly [method: string, path: string, status: number])[] = [
    ['HEAD', '/things/first', 200],
    ['OPTIONS', '/things/first', 405],
    ['GET', '/things/first/', 200],
    ['GET', '/THINGS/first', 200],
    ['GET', '/things/FIRST', 400],
    ['GET', '/things//first', 404],
    ['GET', '/things/', 405],
    ['GET', '/things/first%2Fmore', 400],
    ['GET', '/things/%2Ffirst', 400],
    ['GET', '/things/first%00', 400],
    ['GET', '/things/%zz', 400],
    ['GET', '/things/%ff', 400],
    ['GET', '/things/__proto__', 400],
    ['GET', '/things/constructor', 400],
    ['GET', '/things/all?__proto__=1', 400],
    ['GET', '/things/all?constructor=1', 400],
    ['GET', '/things/all?__proto__[limit]=1', 400],
    ['GET', '/things/all?limit=1&limit=1', 400],
    ['GET', '/things/all?limit=%zz', 400],
    ['GET', '/things/all?limit=5&', 200],
    ['GET', '/things/first?limit=%zz', 200],
  ]
  for (const [method, path, status] of rows) {
    const given = await call(method, path)
    t.equal(given.status, status, `${method} ${path}: ${given.text}`)
    if (status >= 400) t.match(given.body, { status: 'fail', statusCode: status }, `${method} ${path}`)
  }
})

t.test('responses that follow from the parts of a route are documented', async (t) => {
  const statuses = things.map(({ responses }) => Object.keys(responses).map(Number))
  t.strictSame(statuses, [
    [200, 400, 401, 500, 503],
    [200, 400, 401, 500, 503],
    [202, 400, 401, 403, 413, 415, 500, 503],
    [200, 401, 403, 500, 503],
  ])
})

t.test('tables that contradict themselves are refused', async (t) => {
  const [first] = things
  if (!first) throw new Error('no route')
  const table = { guards: [], routes: [first] }
  t.throws(() => createRouters([table, table], options), /two tables have routes below \/things/)
  t.throws(() => createRouters([{ guards: [], routes: [first, first] }], options), /same method of \/things\/\{id\}/)
  const unknown = {
    ...described,
    method: 'post',
    body: dto('NoSuchDto'),
    success: answerOf,
    handler: () => ({}),
  } as const
  t.throws(
    () => createRouters([{ guards: [], routes: [defineEnvelopeRoute({ ...unknown, path: '/x' })] }], options),
    /no JSON Schema has the \$id urn:rowhouse:NoSuchDto/,
  )
  t.throws(() => defineEnvelopeRoute({ ...unknown, path: '/x/{id}' }), /route x: the path and the parameters/)
})

t.test('operations answer what they document', async (t) => {
  const tables = operationTables({
    version: '1.2.3',
    restBasePath: '/rest/v1',
    services: [],
    hasMailbox: false,
    hasConsole: false,
    isDevelopment: true,
    imageBasePath: '/images',
    checks: { database: () => false },
    document: (_request, response) => void response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'),
    allowedOrigins: () => [],
  })
  const call = await serve(t, tables)
  // `fetch` would ask for a fresh copy.
  const cached = {
    'If-None-Match': (await call('GET', '/docs/')).headers.get('etag') ?? '',
    'Cache-Control': 'max-age=0',
  }
  const rows: readonly (readonly [path: string, status: number, headers?: Record<string, string>])[] = [
    ['/health', 200],
    ['/ready', 503],
    ['/openapi.json', 200],
    ['/openapi.json', 401, { Authorization: 'Basic x' }],
    ['/docs-json', 200],
    ['/docs/', 200],
    ['/docs/', 304, cached],
    ['/', 200],
  ]
  const routes = tables.flatMap(({ routes }) => routes)
  for (const [path, status, headers = {}] of rows) {
    t.equal((await call('GET', path, { headers })).status, status, path)
    t.ok(routes.find((route) => route.path === path)?.responses[status], `${path}: ${status} is documented`)
    const refused = await call('POST', path)
    t.strictSame([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD'], `POST ${path}`)
  }
  for (const [path, status] of [
    ['/health/x', 404],
    ['/openapi.json/x', 404],
    ['/docs/x', 404],
    ['/docs/x/y', 404],
    ['/docs/swagger-ui.css', 200],
  ] as const) {
    t.equal((await call('GET', path)).status, status, path)
  }
})

t.test('paths are left to what is mounted at the root', async (t) => {
  const parts = {
    version: '1',
    services: [],
    hasMailbox: false,
    hasConsole: false,
    isDevelopment: true,
    checks: {},
    document: () => undefined,
    allowedOrigins: () => [],
  }
  const paths = (restBasePath: string, imageBasePath: string): string[] =>
    operationTables({ ...parts, restBasePath, imageBasePath }).flatMap(({ routes }) => routes.map(({ path }) => path))
  t.ok(['/', '/health'].every((path) => paths('/rest/v1', '/images').includes(path)))
  t.notOk(paths('/', '/images').includes('/'))
  t.notOk(paths('/rest/v1', '/').includes('/health'), 'the image analysis has it there')
})

t.test('an error without a possible response ends its request, and not the process', async (t) => {
  const broken = [
    { method: 'get', path: '/broken', fault: new Failure(42, 'No such status') },
    { method: 'post', path: '/broken', fault: new Failure(400, 'Fine', { headers: { 'X-Split': 'a\r\nb' } }) },
  ] as const
  const routes = broken.map(({ method, path, fault }) =>
    defineEnvelopeRoute({
      ...described,
      method,
      path,
      success: answerOf,
      handler: () => {
        throw fault
      },
    }),
  )
  const reported = t.capture(console, 'error')
  const call = await serve(t, [{ routes: [...routes, ...things], guards: [] }])
  for (const { method, path } of broken) await t.rejects(call(method.toUpperCase(), path), { message: 'fetch failed' })
  t.equal(reported().length, broken.length)
  t.match(await call('GET', '/things/all'), { status: 200 })
})

t.test('parameters are decoded when the whole path matches', async (t) => {
  const call = await serve(t, [{ routes: things, guards: [] }])
  t.match(await call('GET', '/things/%zz'), { status: 400 })
  t.match(await call('GET', '/things/%zz/nothing'), { status: 404 })
})
