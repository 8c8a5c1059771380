// Selects the key that signs tokens from the configured secret.
import { createPrivateKey, createPublicKey, sign, verify, type JsonWebKey, type KeyObject } from 'node:crypto'
import { verificationKeys, type JwsAlgorithm } from './jwt-keys.ts'

export type SigningKey = {
  readonly kid: string | undefined
  readonly algorithm: JwsAlgorithm
  readonly material: Uint8Array | KeyObject
}

/**
 * The first key of the secret that can sign: text, a symmetric key, or a private key. Undefined when all are public.
 *
 * @throws SecretError when the secret cannot be used at all
 */
export function signingKey(secret: string | Buffer): SigningKey | undefined {
  for (const { kid, algorithms, material } of verificationKeys(secret)) {
    const [algorithm] = algorithms
    if (algorithm !== undefined && material instanceof Uint8Array) return { kid, algorithm, material }
  }
  for (const jwk of jsonWebKeys(secret)) {
    if (typeof jwk.d !== 'string') continue
    // Applies the rules for verification, so that this server accepts every token that it signs.
    const [key] = verificationKeys(JSON.stringify(jwk))
    const algorithm = key?.algorithms.find((name) => name !== 'Ed448')
    if (!key || algorithm === undefined || jwk.crv === 'Ed448') continue
    const material = privateKey(jwk)
    if (material) return { kid: key.kid, algorithm, material }
  }
  return undefined
}

/** Undefined when the private part is invalid or does not match the public part, which may still verify. */
function privateKey(jwk: JsonWebKey): KeyObject | undefined {
  try {
    const key = createPrivateKey({ key: jwk, format: 'jwk' })
    const digest = jwk.kty === 'OKP' ? null : 'sha256'
    const probe = Buffer.from('probe')
    return verify(digest, probe, createPublicKey({ key: jwk, format: 'jwk' }), sign(digest, probe, key))
      ? key
      : undefined
  } catch {
    return undefined
  }
}

function jsonWebKeys(secret: string | Buffer): readonly JsonWebKey[] {
  const text = secret.toString()
  if (!/^\s*[{[]/.test(text)) return []
  const document: unknown = JSON.parse(text)
  const keys: unknown =
    typeof document === 'object' && document !== null && 'keys' in document ? document.keys : [document]
  return Array.isArray(keys)
    ? keys.filter((key): key is JsonWebKey => typeof key === 'object' && key !== null && !Array.isArray(key))
    : []
}
