// One script of requests to a shop (`fixtures/drop-in.sql`), for this server and for PostgREST. The settings have every
// transaction rolled back, so the script changes nothing.
import { generateKeyPairSync, createSecretKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import { anonymousWrites, calls, documents, member, options, reads } from '../tables/drop-in.ts'
import { requestOf, type TableRequest } from './request-table.ts'
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

/** The script. Tokens are for the role `memberRole`, which is in the claim `app`. */
export async function dropInScript(memberRole: string): Promise<readonly SentRequest[]> {
  const app = { role: memberRole }
  const now = Math.floor(Date.now() / 1000)
  const good = { app, aud: 'shop', sub: 'someone', exp: 4_000_000_000, large: 9_007_199_254_740_991, text: 'ü"\\' }
  const token = await sign('HS256', hmac, good)
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
  const withToken = (rows: readonly TableRequest[]): TableRequest[] =>
    rows.map((row) => ({ ...row, headers: { Authorization: `Bearer ${token}`, ...row.headers } }))
  const rows: readonly TableRequest[] = [
    ...reads,
    ...calls,
    ...withToken(calls),
    ...withToken(member),
    ...anonymousWrites,
    ...options,
    ...documents,
    ...withToken(documents),
    ...credentials.map((Authorization): TableRequest => ({
      send: ['GET', '/rpc/whoami'],
      headers: { Authorization, 'User-Agent': 'script' },
    })),
  ]
  return Promise.all(rows.map(requestOf))
}
