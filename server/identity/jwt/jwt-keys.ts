// Parses the configured secret into verification keys. A key verifies only algorithms of its own type, so that a public
// key is never used as an HMAC secret.
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../text/json-object.ts'

/** A signing algorithm of RFC 7518, RFC 8037 or RFC 9864. */
export type JwsAlgorithm = `${'HS' | 'RS' | 'PS' | 'ES'}${'256' | '384' | '512'}` | 'EdDSA' | 'Ed25519' | 'Ed448'

export type VerificationKey = {
  readonly kid: string | undefined
  readonly algorithms: readonly JwsAlgorithm[]
  /** Bytes for HMAC, a public key for everything else. */
  readonly material: Uint8Array | KeyObject
}

/** Why a secret cannot be used; the message never contains it. */
export class SecretError extends Error {}

const minSecretBytes = 32
const minRsaBits = 2048

const curves: ReadonlyMap<string, JwsAlgorithm> = new Map([
  ['P-256', 'ES256'],
  ['P-384', 'ES384'],
  ['P-521', 'ES512'],
])

/** A secret has at least as many bytes as the hash: https://www.rfc-editor.org/rfc/rfc7518#section-3.2 */
const hmacAlgorithms = [
  { name: 'HS256', least: 32 },
  { name: 'HS384', least: 48 },
  { name: 'HS512', least: 64 },
] as const

export const jwsAlgorithms: ReadonlySet<string> = new Set<JwsAlgorithm>([
  ...(['HS', 'RS', 'PS', 'ES'] as const).flatMap((family) =>
    (['256', '384', '512'] as const).map((bits) => `${family}${bits}` as const),
  ),
  'EdDSA',
  'Ed25519',
  'Ed448',
])

/**
 * The keys of a secret: text of at least 32 bytes (for HS256), a JSON Web Key, or a key set. Ignores keys of an unknown
 * type or algorithm, as RFC 7517 requires.
 *
 * @throws SecretError
 */
export function verificationKeys(secret: string | Buffer): readonly VerificationKey[] {
  const bytes = typeof secret === 'string' ? Buffer.from(secret) : secret
  const document = jsonDocument(bytes)
  if (document !== undefined) {
    const keys = isJsonObject(document) && 'keys' in document ? document.keys : [document]
    if (!Array.isArray(keys)) throw new SecretError('"keys" of a JSON Web Key Set must be a list')
    return keys.flatMap((key: unknown, position) => {
      try {
        return keyOf(key)
      } catch (error) {
        if (!(error instanceof SecretError)) throw error
        throw new SecretError(keys.length > 1 ? `key ${position + 1}: ${error.message}` : error.message)
      }
    })
  }
  if (/^\s*-----BEGIN [A-Z ]+-----/.test(bytes.toString('latin1'))) {
    throw new SecretError('a key in PEM format is not supported: convert it to a JSON Web Key')
  }
  if (bytes.length < minSecretBytes) {
    throw new SecretError(`The JWT secret must be at least ${minSecretBytes} characters long.`)
  }
  return [{ kid: undefined, algorithms: ['HS256'], material: bytes }]
}

/** A secret that is a JSON object or array is parsed as keys, never used as text. */
function jsonDocument(bytes: Buffer): unknown {
  const text = bytes.toString()
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function keyOf(jwk: unknown): VerificationKey[] {
  if (!isJsonObject(jwk)) throw new SecretError('a JSON Web Key must be an object')
  const { kty, kid, use, alg } = jwk
  if (kty === undefined) throw new SecretError('a JSON Web Key must have a type ("kty")')
  if (kid !== undefined && kid !== null && typeof kid !== 'string') throw new SecretError('"kid" must be text')
  if (use !== undefined && use !== null && use !== 'sig' && use !== 'enc') {
    throw new SecretError('"use" must be "sig" or "enc"')
  }
  const isBound = alg !== undefined && alg !== null
  if (use === 'enc' || (isBound && !jwsAlgorithms.has(alg as string))) return []
  const key = material(jwk)
  if (!key) return []
  const algorithms = isBound ? key.algorithms.filter((name) => name === alg) : key.algorithms
  return algorithms.length === 0 ? [] : [{ ...key, algorithms, kid: kid ?? undefined }]
}

const base64url = /^[\w-]*$/

function bytesOf(jwk: JsonObject, field: string): string {
  const value = jwk[field]
  if (typeof value !== 'string' || !base64url.test(value) || value.length % 4 === 1) {
    throw new SecretError(`"${field}" of a JSON Web Key must be base64url`)
  }
  return value
}

function publicKey(jwk: JsonWebKey): KeyObject {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    throw new SecretError(`a JSON Web Key of type ${String(jwk.kty)} is not a valid public key`)
  }
}

type Material = Pick<VerificationKey, 'algorithms' | 'material'>

/** Uses only the public members, so a private key works, too. Undefined for an unknown key type. */
function material(jwk: JsonObject): Material | undefined {
  switch (jwk.kty) {
    case 'oct': {
      const bytes = Buffer.from(bytesOf(jwk, 'k'), 'base64url')
      if (bytes.length < minSecretBytes) {
        throw new SecretError(
          `"k" of a JSON Web Key must have at least ${minSecretBytes} bytes, and has ${bytes.length}`,
        )
      }
      return {
        algorithms: hmacAlgorithms.filter(({ least }) => bytes.length >= least).map(({ name }) => name),
        material: bytes,
      }
    }
    case 'RSA': {
      const key = publicKey({ kty: 'RSA', n: bytesOf(jwk, 'n'), e: bytesOf(jwk, 'e') })
      if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < minRsaBits) {
        throw new SecretError(`an RSA key must have at least ${minRsaBits} bits`)
      }
      return { algorithms: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'], material: key }
    }
    case 'EC': {
      const crv = String(jwk.crv)
      const algorithm = curves.get(crv)
      if (!algorithm) throw new SecretError('"crv" of an EC key must be P-256, P-384 or P-521')
      const key = publicKey({ kty: 'EC', crv, x: bytesOf(jwk, 'x'), y: bytesOf(jwk, 'y') })
      return { algorithms: [algorithm], material: key }
    }
    case 'OKP': {
      const crv = jwk.crv
      if (crv !== 'Ed25519' && crv !== 'Ed448') throw new SecretError('"crv" of an OKP key must be Ed25519 or Ed448')
      return { algorithms: ['EdDSA', crv], material: publicKey({ kty: 'OKP', crv, x: bytesOf(jwk, 'x') }) }
    }
    default:
      return undefined
  }
}
