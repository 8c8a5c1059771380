// An issuer of ID tokens, whose claims and signatures a test chooses.
import { createHash } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose'
import type { Test } from 'tap'
import { listen } from './listening.ts'

/** Starts an issuer with discovery and keys. `requests` counts requests by path. */
export async function startIssuer(t: Pick<Test, 'teardown'>) {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }
  const requests = new Map<string, number>()
  const failures = { remaining: 0 }
  const issuer: string = await listen(t, (request, response) => {
    const path = request.url ?? ''
    requests.set(path, (requests.get(path) ?? 0) + 1)
    if (failures.remaining > 0) {
      failures.remaining -= 1
      response.destroy()
      return
    }
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(path === '/jwks' ? { keys: [jwk] } : metadata()))
  })
  const metadata = () => ({
    issuer,
    jwks_uri: `${issuer}/jwks`,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
    id_token_signing_alg_values_supported: ['ES256'],
  })
  const sign = (claims: JWTPayload, key: typeof privateKey = privateKey): Promise<string> =>
    new SignJWT({ iss: issuer, aud: 'app', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setIssuedAt()
      .setExpirationTime(claims.exp ?? '1h')
      .sign(key)
  return { issuer, sign, requests, failures }
}

export const nonceHash = (nonce: string): string => createHash('sha256').update(nonce).digest('hex')

/** The claim `at_hash` for ES256. */
export const accessTokenHash = (token: string): string =>
  createHash('sha256').update(token).digest().subarray(0, 16).toString('base64url')
