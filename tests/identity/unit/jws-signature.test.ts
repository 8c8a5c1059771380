import { generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { compactVerify, CompactSign, importJWK, type JWK } from 'jose'
import t from 'tap'
import { jwsSigner } from '../../../server/identity/jwt/jws-signature.ts'
import { signingKey } from '../../../server/identity/jwt/jwt-signing-key.ts'

const payload = '{"sub":"é","n":12345678901234567890}'

const secrets: Readonly<Record<string, () => object>> = {
  HS256: () => ({ kty: 'oct', k: Buffer.alloc(32, 7).toString('base64url') }),
  HS384: () => ({ kty: 'oct', k: Buffer.alloc(48, 7).toString('base64url') }),
  HS512: () => ({ kty: 'oct', k: Buffer.alloc(64, 7).toString('base64url') }),
  RS256: () => privateJwk('rsa', { modulusLength: 2048 }),
  PS256: () => privateJwk('rsa', { modulusLength: 2048 }),
  ES256: () => privateJwk('ec', { namedCurve: 'P-256' }),
  ES384: () => privateJwk('ec', { namedCurve: 'P-384' }),
  ES512: () => privateJwk('ec', { namedCurve: 'P-521' }),
  EdDSA: () => privateJwk('ed25519'),
}

function privateJwk(type: string, options: object = {}): JsonWebKey {
  const generate = generateKeyPairSync as (type: string, options: object) => ReturnType<typeof generateKeyPairSync>
  return generate(type, options).privateKey.export({ format: 'jwk' })
}

for (const [alg, makeJwk] of Object.entries(secrets)) {
  t.test(`${alg} is verified by jose`, async (t) => {
    const jwk = { ...makeJwk(), alg, kid: 'key 1' }
    const key = signingKey(JSON.stringify(jwk))
    t.equal(key?.algorithm, alg)
    if (!key) return
    const sign = jwsSigner(key)
    const token = await sign(payload)
    const publicJwk: JWK = Object.fromEntries(Object.entries(jwk).filter(([name]) => name !== 'd'))
    const verified = await compactVerify(token, await importJWK(publicJwk, alg))
    t.equal(Buffer.from(verified.payload).toString(), payload)
    t.strictSame(verified.protectedHeader, { alg, kid: 'key 1', typ: 'JWT' })
    t.equal(token.split('.')[0], (await joseToken(alg, key.material)).split('.')[0], 'header')
    const [header, , signature] = token.split('.')
    const forged = `${header}.${Buffer.from('{"sub":"e"}').toString('base64url')}.${signature}`
    await t.rejects(compactVerify(forged, await importJWK(publicJwk, alg)), 'another payload')
    t.not(await sign('{}'), token)
  })
}

const joseToken = (alg: string, material: Parameters<CompactSign['sign']>[0]): Promise<string> =>
  new CompactSign(Buffer.from(payload)).setProtectedHeader({ alg, kid: 'key 1', typ: 'JWT' }).sign(material)

t.test('a plain secret signs with HS256, as jose does', async (t) => {
  const key = signingKey('a secret of at least thirty-two bytes')
  if (!key) throw new Error('no key')
  const expected = await new CompactSign(Buffer.from(payload))
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .sign(key.material)
  t.equal(await jwsSigner(key)(payload), expected)
})
