// What is sent: every route of the server, and for each its parameters, headers and bodies in costly shapes.
import { describedRoutes } from '../../../server/running/service-routes.ts'
import { analysisRoutes } from '../../../server/services/analysis/analysis-routes.ts'
import { authRoutes } from '../../../server/services/auth/auth-table.ts'
import { storageRoutes } from '../../../server/services/storage/storage-table.ts'
import type { ServiceRoute } from '../../../server/http/service-route.ts'
import { tables } from '../service-routes.ts'
import type { Sent } from './server.ts'
import {
  boundary,
  csvShapes,
  formShapes,
  jsonShapes,
  multipartShapes,
  ndjsonShapes,
  shapes,
  socketShapes,
  type Shape,
} from './shapes.ts'

/** A place of a request into which a text of a shape is put, with the largest size that it may have. */
export type Place = {
  readonly name: string
  readonly limit: number
  readonly shapes: readonly Shape[]
  readonly request: (text: string) => Sent
}

export type Credentials = {
  /** Headers of a caller by kind. */
  readonly admin: Readonly<Record<string, string>>
  readonly user: Readonly<Record<string, string>>
  readonly session: Readonly<Record<string, string>>
}

export const imagePrefix = '/api/v1/water-hyacinth'

const kibibyte = 1024
/** Of the URL and all headers together; `request-header-limit` is 50 kB. */
export const headerLimit = 48 * kibibyte
const restLimit = 10_000 * kibibyte

/** Escapes the characters that no request line may have; each other one is sent as it is. */
const inTarget = (text: string): string =>
  text.replace(/[^\x21-\x7e]|#/gu, (sign) =>
    // Lone surrogates cannot be encoded.
    /[\ud800-\udfff]/.test(sign) && sign.length === 1 ? '%EF%BF%BD' : encodeURIComponent(sign),
  )

/** The bytes of a header's value, without the characters that end it. */
const inHeader = (text: string): string =>
  Buffer.from(text.replace(/[^\P{Cc}\t]/gu, ' '), 'utf8')
    .toString('latin1')
    .trim() || 'x'

const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** Headers that some route reads, and what stands around a value. */
const headers: readonly (readonly [name: string, before?: string])[] = [
  ...[['Authorization', 'Bearer '] as const, ['Authorization', ''] as const, ['Authorization', 'Basic '] as const],
  ...['apikey', 'X-Client-Info', 'Prefer', 'Accept', 'Accept-Encoding', 'Accept-Language'].map(
    (name) => [name] as const,
  ),
  ...[['Cookie', ''] as const, ['Cookie', 'session='] as const],
  ...['Range', 'Range-Unit', 'Content-Type', 'Accept-Profile', 'Content-Profile', 'Content-Encoding'].map(
    (name) => [name] as const,
  ),
  ...['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Range', 'Idempotency-Key'].map((name) => [name] as const),
  ...['traceparent', 'tracestate', 'baggage', 'X-Request-Id', 'User-Agent', 'Referer'].map((name) => [name] as const),
  ...['X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Forwarded-Prefix', 'Forwarded'].map(
    (name) => [name] as const,
  ),
  ...['Origin', 'Access-Control-Request-Method', 'Access-Control-Request-Headers'].map((name) => [name] as const),
  ...['Upload-Metadata', 'Upload-Length', 'Upload-Offset', 'Tus-Resumable', 'Upload-Defer-Length', 'Upload-Concat'].map(
    (name) => [name] as const,
  ),
  ...['x-upsert', 'x-metadata', 'Cache-Control', 'X-Signature', 'X-JWT-AUD', 'Rowhouse-Position'].map(
    (name) => [name] as const,
  ),
  ...['X-HTTP-Method-Override', 'Sec-Fetch-Site', 'Expect', 'X-Supabase-Api-Version'].map((name) => [name] as const),
  // A multipart body has a parameter; so have media types.
  ...[
    ['Content-Type', 'multipart/form-data; boundary='] as const,
    ['Content-Type', 'application/json; charset='] as const,
    ['Content-Type', 'application/json;'] as const,
    ['Accept', 'application/vnd.pgrst.plan;'] as const,
    ['Prefer', 'timezone='] as const,
  ],
]

let counter = 0
/** Each request comes from another network, so that no limit per network ends the test. */
const fromElsewhere = (): Record<string, string> => {
  counter += 1
  return { 'X-Forwarded-For': `10.${(counter >> 16) & 255}.${(counter >> 8) & 255}.${counter & 255}` }
}

/** A route of a service, in the form that all tables have. */
export type Target = {
  readonly id: string
  readonly method: string
  /** With parameters in braces. */
  readonly path: string
  readonly query: readonly string[]
  readonly credentials: Readonly<Record<string, string>>
  /** Names of the members of the JSON body; undefined without one. */
  readonly fields?: readonly string[]
  /** Media types of other bodies. */
  readonly types: readonly string[]
  readonly bodyLimit: number
}

type Parameter = { readonly name: string; readonly in: string }

/** The names of the members of a body, from its JSON Schema. */
export type FieldsOf = (schema: string) => readonly string[]

const targetOf = (
  { id, method, path, parameters = [], body, bodies, security }: ServiceRoute & { readonly bodies?: object },
  credentials: Credentials,
  fieldsOf: FieldsOf,
  bodyLimit: number,
): Target => ({
  id,
  method: method.toUpperCase(),
  path,
  query: (parameters as readonly Parameter[]).filter((it) => it.in === 'query').map(({ name }) => name),
  credentials: security.includes('session') ? credentials.session : credentials.user,
  ...(body === undefined ? {} : { fields: fieldsOf(String(body.$ref)) }),
  types: Object.keys(bodies ?? {}),
  bodyLimit,
})

/** All routes of the services. */
export function serviceTargets(credentials: Credentials, fieldsOf: FieldsOf): readonly Target[] {
  const small = 10 * kibibyte
  const ofServices = describedRoutes(tables).map((route) => targetOf(route, credentials, fieldsOf, small))
  const ofAuth = authRoutes.map((route) => {
    const target = targetOf(route, credentials, fieldsOf, 1020 * kibibyte)
    return route.security.includes('apiKey') ? { ...target, credentials: credentials.admin } : target
  })
  const ofStorage = storageRoutes.map((route) => ({
    ...targetOf(route, credentials, fieldsOf, 1020 * kibibyte),
    // Hidden routes share the names of others.
    ...(route.hidden === true ? { id: `${route.method} ${route.path}` } : {}),
    credentials: credentials.admin,
  }))
  const ofAnalysis = analysisRoutes(imagePrefix).map((route) => targetOf(route, credentials, fieldsOf, 9000 * kibibyte))
  return [...ofServices, ...ofAuth, ...ofStorage, ...ofAnalysis]
}

const exampleOf = (name: string): string =>
  /bucket/i.test(name) ? 'files' : /^id$|Id$/.test(name) ? '11111111-1111-4111-8111-111111111111' : 'x'

/** A path whose parameters have values; `at` names the one that has another one. */
const pathWith = (path: string, at?: string, text = ''): string =>
  path.replace(/\{\*?(\w+)\}/g, (_all, name: string) =>
    name === at ? inTarget(text).replace(/\?/g, '%3F') : exampleOf(name),
  )

const parametersIn = (path: string): readonly string[] =>
  [...path.matchAll(/\{\*?(\w+)\}/g)].map(([, name = '']) => name)

/** The places of a service's route. */
export function placesOf(target: Target): readonly Place[] {
  const { id, method, path, query, credentials, fields, types, bodyLimit } = target
  const plain = pathWith(path)
  const sent = (more: Partial<Sent>): Sent => ({
    method,
    target: plain,
    ...more,
    headers: { ...fromElsewhere(), ...credentials, ...more.headers },
  })
  const json = { 'Content-Type': 'application/json' }
  const empty = fields ? { headers: json, body: '{}' } : {}
  const places: Place[] = []
  for (const name of parametersIn(path)) {
    places.push({
      name: `${id}: path parameter ${name}`,
      limit: headerLimit,
      shapes,
      request: (text) => sent({ ...empty, target: pathWith(path, name, text) }),
    })
  }
  for (const name of [...query, 'unknown']) {
    places.push({
      name: `${id}: query parameter ${name}`,
      limit: headerLimit,
      shapes,
      request: (text) => sent({ ...empty, target: `${plain}?${name}=${inTarget(text)}` }),
    })
  }
  places.push({
    name: `${id}: query`,
    limit: headerLimit,
    shapes,
    request: (text) => sent({ ...empty, target: `${plain}?${inTarget(text)}` }),
  })
  for (const [name, before = ''] of headers) {
    places.push({
      name: `${id}: header ${name}${before === '' ? '' : ` (${before.trim()})`}`,
      limit: headerLimit,
      shapes,
      request: (text) => sent({ ...empty, headers: { ...empty.headers, [name]: before + inHeader(text) } }),
    })
  }
  if (fields) {
    places.push({
      name: `${id}: body`,
      limit: bodyLimit,
      shapes: jsonShapes,
      request: (text) => sent({ headers: json, body: bytes(text) }),
    })
    const others = (field: string): object =>
      Object.fromEntries(fields.filter((name) => name !== field).map((name) => [name, 'a@example.org']))
    for (const field of fields) {
      places.push({
        name: `${id}: member ${field}`,
        limit: bodyLimit,
        shapes,
        request: (text) => sent({ headers: json, body: bytes(JSON.stringify({ ...others(field), [field]: text })) }),
      })
    }
  }
  for (const type of types) places.push(...typedPlaces(`${id}: ${type}`, type, bodyLimit, sent))
  return places
}

function typedPlaces(name: string, type: string, limit: number, sent: (more: Partial<Sent>) => Sent): readonly Place[] {
  const isForm = type === 'multipart/form-data'
  const isJson = type === 'application/json'
  const given = isForm ? `${type}; boundary=${boundary}` : type.replace('*', 'png')
  return [
    {
      name: `${name} body`,
      limit,
      shapes: isForm ? multipartShapes : isJson ? jsonShapes : shapes,
      request: (text) => sent({ headers: { 'Content-Type': given }, body: bytes(text) }),
    },
  ]
}

/**
 * The resources of `/rest/v1`. The table `parts` belongs to `items`, and `items` to `people`.
 *
 * @param reader credentials of a caller who may not write
 */
export function restPlaces(reader: Sent['headers']): readonly Place[] {
  const at = (path: string): string => `/rest/v1${path}`
  const sent = (method: string, path: string, more: Partial<Sent> = {}): Sent => ({
    method,
    target: at(path),
    ...more,
    headers: { ...fromElsewhere(), ...more.headers },
  })
  const places: Place[] = []
  const add = (name: string, request: Place['request'], more: Partial<Place> = {}): void =>
    void places.push({ name: `rest: ${name}`, limit: headerLimit, shapes, request, ...more })
  const parameters: Readonly<Record<string, readonly string[]>> = {
    select: ['', 'data->', 'parts(', 'alias:', 'name::', 'id,', 'count(', '...owner('],
    order: ['', 'data->', 'id,', 'owner('],
    and: ['', '('],
    or: ['(id.eq.1,', '(not.and'],
    'not.and': ['('],
    id: ['', 'eq.', 'in.(', 'not.', 'in.("', 'eq(any).{', 'isdistinct.'],
    name: ['like.', 'ilike(any).{', 'fts.', 'fts(', 'match.', 'cs.{', 'cs.{"'],
    data: ['eq.', 'cs.'],
    'data->': ['eq.1'],
    'parts.name': ['eq.'],
    'parts.order': [''],
    'parts.and': ['('],
    limit: [''],
    offset: [''],
    columns: [''],
    on_conflict: [''],
    having: ['', 'count.gt.', 'and('],
    distinct: ['', 'on.('],
    after: [''],
    cursor: [''],
  }
  for (const [parameter, befores] of Object.entries(parameters)) {
    for (const before of befores) {
      add(`GET ?${parameter}=${before}`, (text) => sent('GET', `/items?${parameter}=${inTarget(before + text)}`))
    }
  }
  for (const method of ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']) {
    const body = ['POST', 'PATCH', 'PUT'].includes(method)
      ? { headers: { 'Content-Type': 'application/json' }, body: '{"name":"a"}' }
      : {}
    add(`${method} query`, (text) => sent(method, `/items?${inTarget(text)}`, body))
    add(`${method} ?columns`, (text) => sent(method, `/items?columns=${inTarget(text)}`, body))
    add(`${method} ?select`, (text) => sent(method, `/items?select=${inTarget(text)}`, body))
    add(`${method} table`, (text) => sent(method, `/${inTarget(text)}`, body))
    add(`${method} key`, (text) => sent(method, `/items/${inTarget(text)}`, body))
    add(`${method} function`, (text) => sent(method, `/rpc/${inTarget(text)}`, body))
    for (const [name, before = ''] of headers) {
      const value = (text: string): Readonly<Record<string, string>> => ({
        ...body.headers,
        [name]: before + inHeader(text),
      })
      add(`${method} header ${name} ${before}`, (text) =>
        sent(method, '/items?id=eq.0', { ...body, headers: value(text) }),
      )
    }
  }
  add('parameter name', (text) => sent('GET', `/items?${inTarget(text)}=eq.1`))
  add('function argument', (text) => sent('GET', `/rpc/add?a=${inTarget(text)}&b=1`))
  add('function argument name', (text) => sent('GET', `/rpc/add?${inTarget(text)}=1`))
  add('upsert', (text) =>
    sent('POST', `/items?on_conflict=${inTarget(text)}`, {
      headers: { 'Content-Type': 'application/json', Prefer: 'resolution=merge-duplicates' },
      body: '{"name":"a"}',
    }),
  )
  const page = { Prefer: 'pagination=keyset' }
  add('keyset cursor', (text) => sent('GET', `/items?order=id&limit=1&after=${inTarget(text)}`, { headers: page }))
  return [...places, ...restBodies(sent, reader), ...batchPlaces(sent)]
}

/** Longer bodies are refused by Postgres without being written, which would take most of the time. */
const mostWritten = 200_000

function restBodies(
  sent: (method: string, path: string, more?: Partial<Sent>) => Sent,
  reader: Sent['headers'],
): readonly Place[] {
  const places: Place[] = []
  const kinds = [
    ['application/json', jsonShapes],
    ['text/csv', csvShapes],
    ['application/x-ndjson', ndjsonShapes],
    ['application/x-www-form-urlencoded', formShapes],
    [`multipart/form-data; boundary=${boundary}`, multipartShapes],
    ['application/octet-stream', shapes],
    ['text/plain', shapes],
  ] as const
  const paths = [
    ['POST', '/items'],
    ['POST', '/items?columns=name'],
    ['PATCH', '/items?id=eq.0'],
    ['PUT', '/items?id=eq.1'],
    ['POST', '/rpc/echo'],
    ['POST', '/rpc/add'],
    // A table with a JSON Schema.
    ['POST', '/profiles'],
    ['PATCH', '/profiles?user_id=eq.11111111-1111-4111-8111-111111111111'],
  ] as const
  for (const [method, path] of paths) {
    for (const [type, ofType] of kinds) {
      places.push({
        name: `rest: ${method} ${path} ${type.split(';', 1).join('')} body`,
        limit: restLimit,
        shapes: ofType,
        request: (text) =>
          sent(method, path, {
            headers: { 'Content-Type': type, Prefer: 'tx=rollback', ...(text.length > mostWritten ? reader : {}) },
            body: bytes(text),
          }),
      })
    }
  }
  return places
}

/** Parts of a batch: each is parsed like a request, but may be far larger than one. */
function batchPlaces(sent: (method: string, path: string, more?: Partial<Sent>) => Sent): readonly Place[] {
  type Part = Readonly<Record<string, unknown>>
  const batch = (...requests: readonly Part[]): Sent =>
    sent('POST', '/$batch', {
      headers: { 'Content-Type': 'application/json' },
      body: bytes(JSON.stringify({ requests })),
    })
  const first = { id: 'a', method: 'GET', url: '/items?id=eq.0' }
  const place = (name: string, limit: number, of: readonly Shape[], request: Place['request']): Place => ({
    name: `batch: ${name}`,
    limit,
    shapes: of,
    request,
  })
  const second = { id: 'b', method: 'GET', dependsOn: ['a'] }
  const limit = 9000 * kibibyte
  // The url and the headers of a part may be limited like those of a request.
  const urls: Readonly<Record<string, string>> = {
    url: '/items?',
    'url with a filter': '/items?name=eq.',
    'url with a list': '/items?id=in.(',
    'url with conditions': '/items?and=(',
    'url with an alternative': '/items?or=(id.eq.1,',
    'url with an order': '/items?order=',
    'url with a selection': '/items?select=',
    'url with a path': '/',
  }
  return [
    ...Object.entries(urls).flatMap(([name, before]) => [
      place(name, limit, shapes, (text) => batch({ ...first, url: before + text })),
      place(`${name} and a reference`, limit, shapes, (text) =>
        batch(first, { ...second, url: `${before}${text}\${a#/0/id}` }),
      ),
    ]),
    ...headers.map(([name, before = '']) =>
      place(`header ${name} ${before}`, limit, shapes, (text) =>
        batch({ ...first, headers: { [name]: before + text } }),
      ),
    ),
    place('id', limit, shapes, (text) => batch({ ...first, id: text })),
    place('method', limit, shapes, (text) => batch({ ...first, method: text })),
    place('dependsOn', limit, shapes, (text) => batch(first, { ...second, url: '/items', dependsOn: [text] })),
    place('text body', limit, shapes, (text) =>
      batch({ id: 'a', method: 'POST', url: '/items', body: { name: text } }),
    ),
    place('body', limit, jsonShapes, (text) =>
      sent('POST', '/$batch', {
        headers: { 'Content-Type': 'application/json' },
        body: bytes(`{"requests":[{"id":"a","method":"POST","url":"/items","body":${text}}]}`),
      }),
    ),
    place('document', limit, jsonShapes, (text) =>
      sent('POST', '/$batch', { headers: { 'Content-Type': 'application/json' }, body: bytes(text) }),
    ),
    place('many requests', limit, jsonShapes, (text) =>
      sent('POST', '/$batch', {
        headers: { 'Content-Type': 'application/json' },
        body: bytes(`{"requests":${text}}`),
      }),
    ),
  ]
}

/** The WebSocket of the analysis: its messages, and its handshake. */
export function socketPlaces(): readonly Place[] {
  const target = `${imagePrefix}/ws/live-detect`
  const request = (body: string, more: Readonly<Record<string, string>> = {}, path = target): Sent => ({
    method: 'GET',
    target: path,
    headers: { ...fromElsewhere(), ...more },
    body,
    isSocket: true,
  })
  return [
    {
      name: 'websocket: messages',
      limit: 10_000 * kibibyte,
      shapes: socketShapes,
      request: (text) => request(text),
    },
    {
      name: 'websocket: query',
      limit: headerLimit,
      shapes,
      request: (text) => request('', {}, `${target}?${inTarget(text)}`),
    },
    ...[
      'Origin',
      'Authorization',
      'Cookie',
      'Sec-WebSocket-Protocol',
      'Sec-WebSocket-Extensions',
      'X-Forwarded-For',
    ].map((name): Place => ({
      name: `websocket: header ${name}`,
      limit: headerLimit,
      shapes,
      request: (text) => request('', { [name]: inHeader(text) }),
    })),
  ]
}
