// The keys of access tokens: JSON Web Keys of the settings, and the secrets that were used before them.
import { createHash, createPublicKey, hkdfSync, type JsonWebKey } from 'node:crypto'
import { SecretError, verificationKeys } from './jwt-keys.ts'
import { signingKey, type SigningKey } from './jwt-signing-key.ts'

/** The settings that keys come from. */
export type KeySource = {
  /** PostgREST's setting: a secret, or a JSON Web Key or key set as JSON text. */
  readonly jwtSecret: string | Buffer | null
  /** JSON Web Keys as JSON text: an array, or an object with `keys`. */
  readonly authJwtKeys: string | null
  /** Secret for HS256. */
  readonly authJwtSecret: string | null
  /** Whether keys of `jwtSecret` that only verify are published. */
  readonly authJwtPublishVerificationKeys?: boolean
}

/**
 * A function that returns what is derived from the keys, and derives it again only when they have changed.
 *
 * @param keys read at each call, because the settings can be reloaded
 */
export function derivedFromKeys<T>(keys: () => KeySource, derive: (source: KeySource) => T): () => T {
  let last: { readonly source: KeySource; readonly derived: T } | undefined
  return () => {
    const { jwtSecret, authJwtKeys, authJwtSecret, authJwtPublishVerificationKeys = false } = keys()
    const isSame =
      last?.source.jwtSecret === jwtSecret &&
      last.source.authJwtKeys === authJwtKeys &&
      last.source.authJwtSecret === authJwtSecret &&
      last.source.authJwtPublishVerificationKeys === authJwtPublishVerificationKeys
    if (last && isSame) return last.derived
    const source = { jwtSecret, authJwtKeys, authJwtSecret, authJwtPublishVerificationKeys }
    last = { source, derived: derive(source) }
    return last.derived
  }
}

type Jwk = JsonWebKey & { readonly kid?: string; readonly alg?: string; readonly key_ops?: readonly string[] }

/**
 * What verifies tokens, in the form of the setting `jwt-secret`: all keys as a key set, or that setting alone if there
 * are no others.
 */
export function verificationSecret({ jwtSecret, authJwtKeys, authJwtSecret }: KeySource): string | Buffer | null {
  if (authJwtKeys === null && authJwtSecret === null) return jwtSecret
  const secrets = [authJwtSecret, jwtSecret].filter((secret) => secret !== null)
  const keys = [...(authJwtKeys === null ? [] : keysOf(authJwtKeys)), ...secrets.flatMap(jwksOf)]
  return JSON.stringify({ keys })
}

/** The key that signs tokens; undefined if none can. */
export function tokenSigningKey({ jwtSecret, authJwtKeys, authJwtSecret }: KeySource): SigningKey | undefined {
  if (authJwtKeys !== null) {
    const [key] = keysOf(authJwtKeys).filter(canSign)
    return key && signingKey(JSON.stringify(key))
  }
  const secret = authJwtSecret ?? jwtSecret
  return secret === null ? undefined : signingKey(secret)
}

/**
 * The public keys, to be published: those of `authJwtKeys`, first the one that signs, and those of `jwtSecret` that have a
 * private part. Other keys of `jwtSecret` verify tokens of other issuers, and are published only if the source says so.
 * Secrets are left out. Each key is there once, and each id: clients refuse a token that two keys could belong to.
 */
export function publicKeys(source: KeySource): readonly JsonWebKey[] {
  const { jwtSecret, authJwtKeys, authJwtPublishVerificationKeys: publishesAll = false } = source
  const own = authJwtKeys === null ? [] : keysOf(authJwtKeys)
  const others = jwtSecret === null ? [] : jwksOf(jwtSecret)
  const seen = new Set<string>()
  return [
    ...own.filter(canSign),
    ...own.filter((key) => !canSign(key)),
    ...others.filter(({ d }) => publishesAll || d !== undefined),
  ].flatMap((key) => {
    if (key.kty === 'oct') return []
    const [verification] = verificationKeys(JSON.stringify(key))
    if (!verification) return []
    const { kid, alg = verification.algorithms[0] } = key
    const { kty, ...parts } = createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' })
    const names = [`key ${JSON.stringify([kty, parts])}`, ...(kid === undefined ? [] : [`id ${kid}`])]
    if (names.some((name) => seen.has(name))) return []
    for (const name of names) seen.add(name)
    return [{ kty, ...(kid === undefined ? {} : { kid }), use: 'sig', key_ops: ['verify'], alg, ...parts }]
  })
}

export type DerivedSecret = {
  /** Names the secret, without revealing it. */
  readonly kid: string
  /** 32 bytes. */
  readonly secret: Uint8Array
}

/**
 * Secrets for another purpose than tokens: one of each key with a secret part, first that of the key that signs tokens.
 * From one of them neither the key nor the secrets of other purposes can be computed (HKDF, RFC 5869).
 */
export function derivedSecrets(source: KeySource, purpose: string): readonly DerivedSecret[] {
  return secretParts(source).map((part) => {
    const secret = new Uint8Array(hkdfSync('sha256', part, '', `rowhouse ${purpose}`, 32))
    return { kid: createHash('sha256').update(secret).digest('base64url').slice(0, 16), secret }
  })
}

/** The secret parts of the keys. */
function secretParts({ jwtSecret, authJwtKeys, authJwtSecret }: KeySource): readonly Buffer[] {
  const keys = authJwtKeys === null ? [] : keysOf(authJwtKeys)
  const secrets = [authJwtSecret, jwtSecret].filter((secret) => secret !== null)
  const ordered = [...keys.filter(canSign), ...keys.filter((key) => !canSign(key)), ...secrets.flatMap(jwksOf)]
  return ordered
    .map(({ kty, k, d }) => Buffer.from((kty === 'oct' ? k : d) ?? '', 'base64url'))
    .filter((part) => part.length > 0)
}

/**
 * Checks the text of the setting `GOTRUE_JWT_KEYS`.
 *
 * @throws SecretError whose message does not contain the keys
 */
export function checkKeys(text: string): void {
  const keys = keysOf(text)
  verificationKeys(JSON.stringify({ keys }))
  const signing = keys.filter(canSign)
  if (signing.length !== 1) {
    throw new SecretError(`must have one key whose "key_ops" has "sign", but has ${signing.length}`)
  }
  if (signing[0] && !signingKey(JSON.stringify(signing[0]))) {
    throw new SecretError('the key whose "key_ops" has "sign" must be a private key, or a secret one')
  }
}

const canSign = ({ key_ops }: Jwk): boolean => Array.isArray(key_ops) && key_ops.includes('sign')

const isKeySet = (value: unknown): value is { readonly keys: unknown } =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'keys')

/** @throws SecretError */
function keysOf(text: string): readonly Jwk[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new SecretError('must be JSON Web Keys as JSON')
  }
  const keys = isKeySet(value) ? value.keys : value
  if (!Array.isArray(keys)) throw new SecretError('must be an array of JSON Web Keys, or a key set')
  if (!keys.every((key): key is Jwk => typeof key === 'object' && key !== null && !Array.isArray(key))) {
    throw new SecretError('a JSON Web Key must be an object')
  }
  return keys
}

/** The keys of the setting `jwt-secret`, which has been checked. */
function jwksOf(secret: string | Buffer): readonly Jwk[] {
  const text = secret.toString()
  if (/^\s*[{[]/.test(text)) {
    try {
      const value: unknown = JSON.parse(text)
      return keysOf(JSON.stringify(isKeySet(value) ? value : [value]))
    } catch (error) {
      // Like `verificationKeys`, uses text that is not JSON as a secret.
      if (!(error instanceof SyntaxError)) throw error
    }
  }
  return [{ kty: 'oct', k: Buffer.from(secret).toString('base64url'), alg: 'HS256' }]
}
