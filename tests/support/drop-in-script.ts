// One script of requests to a shop (`fixtures/drop-in.sql`), for this server and for PostgREST. The settings have every
// transaction rolled back, so the script changes nothing.
import { generateKeyPairSync, createSecretKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import type { SentRequest } from './sent-request.ts'

const hmac = createSecretKey(Buffer.from('a secret for scripts, of more than 32 characters'))
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const strange = createSecretKey(Buffer.from('another secret, of which no server of ours can know'))

const jwk = (key: KeyObject, more: JsonWebKey): JsonWebKey => ({ ...key.export({ format: 'jwk' }), ...more })

/** The key set that is the servers' jwt-secret. */
export const keySet = JSON.stringify({
  keys: [jwk(hmac, { alg: 'HS256' }), jwk(rsa.publicKey, { alg: 'RS256' }), jwk(ec.publicKey, { alg: 'ES256' })],
})

const sign = (alg: string, key: KeyObject, claims: JWTPayload): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg, typ: 'JWT' }).sign(key)

type Headers = Readonly<Record<string, string>>
type Row = readonly [method: string, path: string, headers?: Headers, body?: unknown]

const json = { 'Content-Type': 'application/json' }
const prefer = (...preferences: readonly string[]): Headers => ({ Prefer: preferences.join(', ') })
const accept = (type: string): Headers => ({ Accept: type })

const reads: readonly Row[] = [
  ['GET', '/customers'],
  ['GET', '/customers?select=id,name&order=id.desc&limit=1'],
  ['GET', '/customers?id=eq.1', accept('application/vnd.pgrst.object+json')],
  ['GET', '/customers?id=eq.99', accept('application/vnd.pgrst.object+json')],
  ['GET', '/customers?select=id,name', accept('text/csv')],
  ['GET', '/customers?select=id', accept('image/png')],
  ['GET', '/customers?name=eq', {}],
  ['GET', '/customers?select=id,(', {}],
  ['GET', '/customers?select=colour', {}],
  ['GET', '/customers?select=id,nowhere(*)', {}],
  ['HEAD', '/customers?id=lt.3'],
  ['GET', '/customers', prefer('count=exact')],
  ['GET', '/customers', { ...prefer('count=exact'), Range: '0-0', 'Range-Unit': 'items' }],
  ['GET', '/customers', { Range: '7-9', 'Range-Unit': 'items' }],
  ['GET', '/customers', { ...prefer('count=exact'), Range: '7-9' }],
  ['GET', '/customers?limit=1', prefer('handling=strict', 'nonsense=1')],
  ['GET', '/open_orders?order=id'],
  ['GET', '/totals?order=status'],
  ['GET', '/totals?select=total.sum()'],
  ['GET', '/customers', accept('application/vnd.pgrst.plan+text; options=verbose|costs')],
  ['GET', '/ledger'],
  ['GET', '/nowhere'],
  ['GET', '/custmers'],
  ['GET', '/customers/1'],
  ['GET', '/shelves', { 'Accept-Profile': 'depot' }],
  ['GET', '/shelves'],
  ['GET', '/shelves', { 'Accept-Profile': 'elsewhere' }],
  ['GET', '/customers', { 'X-Refused': 'yes' }],
  ['GET', '/customers?limit=1', { 'X-Trace': 'abc-1' }],
  ['GET', '/nowhere', { 'X-Trace': 'abc-2' }],
  ['GET', '/customers?limit=1', prefer('timezone=Europe/Berlin')],
]

const calls: readonly Row[] = [
  ['GET', '/rpc/add?a=1&b=2'],
  ['GET', '/rpc/add?a=1'],
  ['GET', '/rpc/add?a=x'],
  ['GET', '/rpc/add?b=2'],
  ['HEAD', '/rpc/add?a=1&b=2'],
  ['POST', '/rpc/add', json, { a: 1, b: 2 }],
  ['POST', '/rpc/add', { 'Content-Type': 'application/x-www-form-urlencoded' }, 'a=3&b=4'],
  ['POST', '/rpc/add', json, '{"a":'],
  ['POST', '/rpc/addd', json, { a: 1 }],
  ['PATCH', '/rpc/add', json, { a: 1 }],
  ['GET', '/rpc/nothing'],
  ['POST', '/rpc/nothing'],
  ['POST', '/rpc/answer'],
  ['POST', '/rpc/raised'],
  ['POST', '/rpc/fail', json, { state: 'P0001', word: 'plain' }],
  ['POST', '/rpc/fail', json, { state: 'PT402', word: 'Payment Required' }],
  ['POST', '/rpc/fail', json, { state: '23505', word: 'twice' }],
  ['POST', '/rpc/fail', json, { state: '42501', word: 'no' }],
  ['POST', '/rpc/fail', json, { state: '53400', word: 'full' }],
  ['GET', '/rpc/orders_of?customer=1&select=id'],
  ['GET', '/rpc/whoami', { Cookie: 'a=b; c=d', 'User-Agent': 'script' }],
]

const member: readonly Row[] = [
  ['GET', '/rpc/whoami', { 'User-Agent': 'script' }],
  ['GET', '/customers?select=name,orders(id,status)&order=id'],
  ['GET', '/orders?select=id,customers!inner(name)&customers.name=eq.Ada&order=id'],
  ['GET', '/orders?select=id,total,tags,details,placed_at&order=id'],
  ['GET', '/orders?select=id&tags=cs.{b}&details->>gift=is.null'],
  ['GET', '/ledger'],
  ['GET', '/rpc/orders_of?customer=1&order=id.desc'],
  ['GET', '/customers', prefer('count=estimated')],
  ['GET', '/customers', prefer('count=planned')],
  ['POST', '/customers', json, { id: 4, name: 'Di' }],
  ['POST', '/customers', { ...json, ...prefer('return=representation') }, { id: 4, name: 'Di' }],
  ['POST', '/customers?select=id', { ...json, ...prefer('return=representation') }, [{ id: 4, name: 'D' }, { id: 5, name: 'E' }]],
  ['POST', '/customers', { ...json, ...prefer('return=headers-only') }, { id: 4, name: 'Di' }],
  ['POST', '/customers', { ...json, ...prefer('tx=rollback') }, { id: 4, name: 'Di' }],
  ['POST', '/customers', json, { id: 1, name: 'again' }],
  ['POST', '/customers', { ...json, ...prefer('resolution=ignore-duplicates', 'return=representation') }, { id: 1, name: 'again' }],
  ['POST', '/customers', { ...json, ...prefer('resolution=merge-duplicates', 'return=representation') }, { id: 1, name: 'Eve' }],
  ['POST', '/customers', json, { id: 4, name: null }],
  ['POST', '/customers', json, { id: 4, name: 'x', colour: 'red' }],
  ['POST', '/customers', json, { id: 13, name: 'unlucky' }],
  ['POST', '/customers', json, { id: 'four', name: 'x' }],
  ['POST', '/customers', json, [{ id: 4, name: 'x' }, { id: 5 }]],
  ['POST', '/customers', json, '[{'],
  ['POST', '/customers', { 'Content-Type': 'text/csv' }, 'id,name\n4,Di\n5,Ed\n'],
  ['POST', '/customers', { 'Content-Type': 'image/png' }, 'x'],
  ['POST', '/customers?columns=id,name', json, { id: 4, name: 'Di', colour: 'red' }],
  ['POST', '/orders', { ...json, ...prefer('return=representation', 'missing=default') }, [{ id: 9, customer_id: 1 }]],
  ['POST', '/orders', json, { id: 9, customer_id: 99 }],
  ['POST', '/orders', json, { id: 9, customer_id: 1, total: -1 }],
  ['POST', '/orders', json, { id: 9, customer_id: 1, status: 'lost' }],
  ['POST', '/totals', json, { status: 'open' }],
  ['PATCH', '/customers?id=eq.1', json, { note: 'changed' }],
  ['PATCH', '/customers?id=eq.1', { ...json, ...prefer('return=representation', 'count=exact') }, { note: 'changed' }],
  ['PATCH', '/customers?id=eq.99', { ...json, ...prefer('return=representation') }, { note: 'changed' }],
  ['PATCH', '/customers?id=lt.3', { ...json, ...accept('application/vnd.pgrst.object+json'), ...prefer('return=representation') }, { note: 'z' }],
  ['PATCH', '/customers?id=eq.1', json, {}],
  ['PUT', '/customers?id=eq.1', { ...json, ...prefer('return=representation') }, { id: 1, name: 'Put', email: null, note: null }],
  ['PUT', '/customers?id=eq.1', json, { id: 2, name: 'Put', email: null, note: null }],
  ['PUT', '/customers?name=eq.x', json, { id: 2, name: 'Put', email: null, note: null }],
  ['DELETE', '/orders?id=eq.1'],
  ['DELETE', '/orders?id=eq.1', prefer('return=representation')],
  ['DELETE', '/customers?id=eq.1'],
  ['DELETE', '/totals?status=eq.open'],
  ['POST', '/shelves', { ...json, 'Content-Profile': 'depot', ...prefer('return=representation') }, { id: 2, label: 'low' }],
  ['TRACE', '/customers'],
] // prettier-ignore

const anonymousWrites: readonly Row[] = [
  ['POST', '/customers', json, { id: 4, name: 'Di' }],
  ['PATCH', '/customers?id=eq.1', json, { note: 'x' }],
  ['DELETE', '/customers?id=eq.1'],
]

const listed = { Origin: 'https://shop.test' }
const unlisted = { Origin: 'https://elsewhere.test' }
const preflight = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'Foo, Bar' }

/** Further tokens, valid and invalid. */
const preflights: readonly Headers[] = [
  { 'Access-Control-Request-Method': 'GET' },
  { 'Access-Control-Request-Method': 'get' },
  { 'Access-Control-Request-Method': 'TRACE' },
  { 'Access-Control-Request-Headers': 'Foo' },
  ...['accept, AUTHORIZATION,x', 'Foo,,Bar', 'Foo Bar', 'a(b', ' ', 'Foo,Foo'].map((names) => ({
    ...preflight,
    'Access-Control-Request-Headers': names,
  })),
]

const options: readonly Row[] = [
  ['OPTIONS', '/'],
  ['OPTIONS', '/customers'],
  ['OPTIONS', '/open_orders'],
  ['OPTIONS', '/totals'],
  ['OPTIONS', '/rpc/add'],
  ['OPTIONS', '/rpc/nothing'],
  ['OPTIONS', '/nowhere'],
  ...[listed, unlisted].flatMap((origin): Row[] => [
    ['GET', '/customers?limit=1', origin],
    ['GET', '/nowhere', origin],
    ['OPTIONS', '/customers', origin],
    ['OPTIONS', '/customers', { ...origin, ...preflight }],
    ['OPTIONS', '/nowhere', { ...origin, ...preflight }],
    ...preflights.map((asked): Row => ['OPTIONS', '/customers', { ...origin, ...asked }]),
  ]),
]

/** Requests for the documents of the API root. */
const documents: readonly Row[] = [
  ['HEAD', '/'],
  ['GET', '/', accept('application/openapi+json')],
  ['GET', '/'],
  ['GET', '/', accept('text/csv')],
  ['GET', '/', { 'Accept-Profile': 'depot' }],
  ['POST', '/', json, {}],
]

/** The script. Tokens are for the role `memberRole`, which is in the claim `app`. */
export async function dropInScript(memberRole: string): Promise<readonly SentRequest[]> {
  const app = { role: memberRole }
  const now = Math.floor(Date.now() / 1000)
  const good = { app, aud: 'shop', sub: 'someone', exp: 4_000_000_000, large: 9_007_199_254_740_991, text: 'ü"\\' }
  const token = await sign('HS256', hmac, good)
  const bearer = (value: string): Headers => ({ Authorization: `Bearer ${value}` })
  const [head = '', payload = '', signature = ''] = token.split('.')
  const credentials: readonly string[] = [
    `Bearer ${token}`,
    `bearer ${token}`,
    `BEARER ${token}`,
    `Basic ${Buffer.from('a:b').toString('base64')}`,
    token,
    'Bearer',
    'Bearer ',
    'Bearer x',
    'Bearer a.b',
    'Bearer a.b.c',
    `Bearer ${head}.${payload}.`,
    `Bearer ${head}.${payload}.${signature.slice(0, -2)}AA`,
    ...(
      await Promise.all([
        sign('RS256', rsa.privateKey, good),
        sign('ES256', ec.privateKey, good),
        sign('HS256', strange, good),
        sign('HS512', hmac, good),
        sign('HS256', hmac, { ...good, exp: now - 3600 }),
        sign('HS256', hmac, { ...good, exp: now - 5 }),
        sign('HS256', hmac, { ...good, nbf: now + 3600 }),
        sign('HS256', hmac, { ...good, iat: now + 3600 }),
        sign('HS256', hmac, { ...good, aud: 'other' }),
        sign('HS256', hmac, { ...good, aud: ['other', 'shop'] }),
        sign('HS256', hmac, { ...good, aud: ['other'] }),
        sign('HS256', hmac, { app, exp: good.exp }),
        sign('HS256', hmac, { aud: 'shop' }),
        sign('HS256', hmac, { aud: 'shop', app: {} }),
        sign('HS256', hmac, { aud: 'shop', app: { role: 'nobody knows' } }),
        sign('HS256', hmac, { aud: 'shop', app: { role: 'postgres' } }),
        Promise.resolve(new UnsecuredJWT(good).encode()),
      ])
    ).map((it) => `Bearer ${it}`),
  ]
  const withToken = (rows: readonly Row[]): Row[] =>
    rows.map(([method, path, headers = {}, body]) => [method, path, { ...bearer(token), ...headers }, body])
  const rows: readonly Row[] = [
    ...reads,
    ...calls,
    ...withToken(calls),
    ...withToken(member),
    ...anonymousWrites,
    ...options,
    ...documents,
    ...withToken(documents),
    ...credentials.map((Authorization): Row => ['GET', '/rpc/whoami', { Authorization, 'User-Agent': 'script' }]),
  ]
  return rows.map(([method, path, headers = {}, body]) => ({
    method,
    path,
    headers,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  }))
}
