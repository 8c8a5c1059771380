// Verifies JSON Web Tokens. Error codes, messages and the order of checks are PostgREST's.
// https://docs.postgrest.org/en/stable/references/auth.html
import { isUtf8 } from 'node:buffer'
import { createHmac, timingSafeEqual, verify as verifyWithNode } from 'node:crypto'
import { compactVerify } from 'jose/jws/compact/verify'
import { credentialErrors, type CredentialError } from '../credential-error.ts'
import { bytesOfText, SecondChanceCache } from '../../common/second-chance-cache.ts'
import { exactClaims } from './exact-claims.ts'
import { lastingIdentity, type Claims, type Identity } from '../identity.ts'
import { claimChecks, claimsFault, type ClaimChecks } from './jwt-claims.ts'
import { jwsAlgorithms, verificationKeys, type JwsAlgorithm, type VerificationKey } from './jwt-keys.ts'
import { parseRoleClaim, roleInClaims, type RoleClaim } from '../role-claim/role-claim.ts'

/** Settings of PostgREST under their original names in camel case. */
export type JwtSettings = {
  /** Required audience of tokens that have an `aud` claim. */
  readonly jwtAud: string | null
  /** Maximum number of verified tokens that are cached; 0 for none. */
  readonly jwtCacheMaxEntries: number
  readonly jwtRoleClaimKey: string
  /** The secret, or a JWK or JWKS as JSON text; already decoded from base64. */
  readonly jwtSecret: string | Buffer | null
  readonly jwtSecretIsBase64: boolean
  /** Role of requests without a token. Null rejects them. */
  readonly dbAnonRole: string | null
}

/** Counts since the first verifier was created. */
export type JwtCacheStatistics = { readonly requests: number; readonly hits: number; readonly evictions: number }

export type JwtCacheEvent = 'lookup' | 'eviction'

export type JwtVerifier = {
  readonly settings: JwtSettings
  readonly cacheStatistics: JwtCacheStatistics
  /**
   * The identity of a token, or the anonymous role without one. Returns synchronously when the token is cached; its times
   * are checked again. `now` is in seconds since 1970.
   *
   * @throws CredentialError; as a rejection where a promise is returned
   */
  verify(token: string | undefined, now?: number): Identity | Promise<Identity>
}

/** A token with a valid signature. */
class Verified {
  readonly checks: ClaimChecks
  #identify: (() => Identity | undefined) | undefined
  #identity: Identity | undefined

  constructor(checks: ClaimChecks, identify: () => Identity | undefined) {
    this.checks = checks
    this.#identify = identify
  }

  /** Undefined when neither the token nor the settings name a role. Computed lazily: many tokens are never admitted. */
  get identity(): Identity | undefined {
    if (this.#identify) this.#identity = this.#identify()
    // Frees the closure, which keeps the text of the claims alive.
    this.#identify = undefined
    return this.#identity
  }
}

/**
 * Creates a verifier. Returns `previous` when the settings are the same, which keeps its cache. Different settings always
 * start with an empty cache; the counts continue.
 *
 * @param onCache is called for every lookup and eviction
 * @throws SecretError when the secret cannot be used; loading the settings has already checked it
 */
export function createJwtVerifier(
  settings: JwtSettings,
  previous?: JwtVerifier,
  onCache?: (event: JwtCacheEvent) => void,
): JwtVerifier {
  if (previous && isSame(previous.settings, settings)) return previous
  return new CachingVerifier(settings, previous?.cacheStatistics ?? noStatistics, onCache)
}

const noStatistics: JwtCacheStatistics = { requests: 0, hits: 0, evictions: 0 }

function isSame(one: JwtSettings, other: JwtSettings): boolean {
  const bytes = ({ jwtSecret }: JwtSettings): Buffer => Buffer.from(jwtSecret ?? '')
  return (
    (one.jwtSecret === null) === (other.jwtSecret === null) &&
    bytes(one).equals(bytes(other)) &&
    one.jwtAud === other.jwtAud &&
    one.jwtRoleClaimKey === other.jwtRoleClaimKey &&
    one.jwtCacheMaxEntries === other.jwtCacheMaxEntries &&
    one.dbAnonRole === other.dbAnonRole
  )
}

/** Bytes that an entry of the cache may have on average; few tokens have more than one kilobyte. */
const bytesOfEntry = 16 * 1024
/** Bytes that claims and what is read of them take in memory for each byte of their text, estimated. */
const claimsCost = 5

class CachingVerifier implements JwtVerifier {
  readonly settings: JwtSettings
  readonly cacheStatistics: { requests: number; hits: number; evictions: number }
  readonly #onCache: ((event: JwtCacheEvent) => void) | undefined
  readonly #keys: readonly VerificationKey[] | undefined
  readonly #roleClaim: RoleClaim
  readonly #cache: SecondChanceCache<Verified> | undefined
  readonly #anonymous: Identity | undefined

  constructor(settings: JwtSettings, statistics: JwtCacheStatistics, onCache?: (event: JwtCacheEvent) => void) {
    this.settings = settings
    this.cacheStatistics = { ...statistics }
    this.#onCache = onCache
    this.#keys = settings.jwtSecret === null ? undefined : verificationKeys(settings.jwtSecret)
    const roleClaim = parseRoleClaim(settings.jwtRoleClaimKey)
    if (roleClaim.kind === 'invalid') throw new Error(roleClaim.message)
    this.#roleClaim = roleClaim
    if (settings.jwtCacheMaxEntries > 0) {
      const entries = settings.jwtCacheMaxEntries
      this.#cache = new SecondChanceCache({ entries, bytes: entries * bytesOfEntry }, () => {
        this.cacheStatistics.evictions += 1
        onCache?.('eviction')
      })
    }
    this.#anonymous = this.#identify('{}', {})
  }

  verify(token: string | undefined, now = Date.now() / 1000): Identity | Promise<Identity> {
    if (token === undefined) {
      if (!this.#anonymous) throw credentialErrors.anonymousDisabled()
      return this.#anonymous
    }
    if (!this.#keys) throw credentialErrors.noSecret()
    if (!this.#cache) return this.#verifyUncached(this.#keys, token, now)
    this.cacheStatistics.requests += 1
    this.#onCache?.('lookup')
    const known = this.#cache.get(token)
    if (!known) return this.#verifyUncached(this.#keys, token, now)
    this.cacheStatistics.hits += 1
    return admit(known, now)
  }

  #verifyUncached(keys: readonly VerificationKey[], token: string, now: number): Identity | Promise<Identity> {
    const payload = verifiedPayload(keys, token)
    return typeof payload === 'string'
      ? this.#remember(token, payload, now)
      : payload.then((text) => this.#remember(token, text, now))
  }

  #remember(token: string, payload: string, now: number): Identity {
    const claims = parseClaims(payload)
    const checks = claimChecks(claims, this.settings.jwtAud)
    const verified = new Verified(checks, () => this.#identify(payload, claims))
    // Tokens with invalid claims are cached too, so repeats are cheap.
    this.#cache?.add(token, verified, claimsCost * bytesOfText(payload))
    return admit(verified, now)
  }

  #identify(payload: string, claims: Claims): Identity | undefined {
    const role = roleInClaims(this.#roleClaim, claims) ?? this.settings.dbAnonRole
    if (role === null) return undefined
    const exact = exactClaims(payload, role)
    return exact === undefined ? lastingIdentity(role, claims) : { role, claims, claimsText: exact }
  }
}

/** Errors by message, of which there are few. Reused because clients keep sending expired tokens. */
const refusals = new Map<string, CredentialError>()

function refusalFor(fault: string): CredentialError {
  let refusal = refusals.get(fault)
  if (!refusal) refusals.set(fault, (refusal = credentialErrors.invalidClaims(fault)))
  return refusal
}

function admit(verified: Verified, now: number): Identity {
  const fault = claimsFault(verified.checks, Math.floor(now))
  if (fault !== undefined) throw refusalFor(fault)
  const { identity } = verified
  if (!identity) throw credentialErrors.anonymousDisabled()
  return identity
}

const unreadable = (): Error => credentialErrors.invalidToken('JWT cryptographic operation failed')
const unverifiable = (details: string): Error =>
  credentialErrors.invalidToken('No suitable key or wrong key type', details)

/** Bytes of unpadded base64url (RFC 7515, appendix C). */
function decode(part: string): Buffer {
  if (!/^[\w-]*$/.test(part) || part.length % 4 === 1) throw unreadable()
  return Buffer.from(part, 'base64url')
}

/** The JSON object that the text encodes, or undefined. */
function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

const textOf = (bytes: Buffer): string | undefined => (isUtf8(bytes) ? bytes.toString('utf8') : undefined)

function parseClaims(payload: string): Claims {
  const claims = jsonObject(payload)
  if (!claims) throw credentialErrors.invalidClaims('Parsing claims failed')
  return claims
}

const isOptionalText = (value: unknown): value is string | null | undefined =>
  value === undefined || value === null || typeof value === 'string'

type Header = { readonly algorithm: JwsAlgorithm | 'none'; readonly kid: string | undefined }

/** Parsed headers. Tokens of one issuer nearly always have the same header. */
const headers = new SecondChanceCache<Header>({ entries: 100, bytes: 256 * 1024 })

function headerOf(part: string): Header {
  const known = headers.get(part)
  if (known) return known
  const header = parseHeader(part)
  // Only short headers. The key is a copy, because a slice would keep the whole token alive.
  if (part.length <= 256) headers.add(Buffer.from(part).toString(), header, bytesOfText(part))
  return header
}

function parseHeader(part: string): Header {
  const header = jsonObject(textOf(decode(part)) ?? '')
  if (!header) throw unreadable()
  const { alg, kid, typ, cty } = header
  if (alg === 'none') return { algorithm: 'none', kid: undefined }
  const isReadable =
    typeof alg === 'string' &&
    jwsAlgorithms.has(alg) &&
    [kid, typ, cty].every(isOptionalText) &&
    // Rejects encrypted tokens and critical extensions, none of which is supported (RFC 7515, section 4.1.11).
    !Object.hasOwn(header, 'enc') &&
    !Object.hasOwn(header, 'crit')
  if (!isReadable) throw unreadable()
  return { algorithm: alg as JwsAlgorithm, kid: typeof kid === 'string' ? kid : undefined }
}

/** The text of the payload, after one of the keys has verified the signature. Synchronous for HMAC. */
function verifiedPayload(keys: readonly VerificationKey[], token: string): string | Promise<string> {
  if (token === '') throw credentialErrors.invalidToken('Empty JWT is sent in Authorization header')
  const parts = token.split('.')
  if (parts.length !== 3) throw credentialErrors.invalidToken(`Expected 3 parts in JWT; got ${parts.length}`)
  const [headerPart = '', payloadPart = '', signaturePart = ''] = parts
  const { algorithm, kid } = headerOf(headerPart)
  const payload = decode(payloadPart)
  // Rejected before the signature part is decoded.
  if (algorithm === 'none') {
    throw credentialErrors.invalidToken(
      'Wrong or unsupported encoding algorithm',
      "JWT is unsecured but expected 'alg' was not 'none'",
    )
  }
  const signature = decode(signaturePart)
  const candidates = keys
    .filter((key) => key.algorithms.includes(algorithm) && (kid === undefined || key.kid === kid))
    .map(({ material }) => material)
  if (candidates.length === 0) throw unverifiable('No suitable key was found to decode the JWT')
  const admitted = (isGood: boolean): string => {
    if (!isGood) throw unverifiable('None of the keys was able to decode the JWT')
    return textOf(payload) ?? ''
  }
  const hash = hashes.get(algorithm)
  if (hash === undefined) return isSignedByAny(candidates, algorithm, token, signature).then(admitted)
  const content = token.slice(0, token.lastIndexOf('.'))
  return admitted(candidates.some((key) => key instanceof Uint8Array && hasMac(key, hash, content, signature)))
}

/** Hashes of the HMAC algorithms. */
const hashes = new Map<JwsAlgorithm, string>([
  ['HS256', 'sha256'],
  ['HS384', 'sha384'],
  ['HS512', 'sha512'],
])

// Does not use jose: its WebCrypto calls run on another thread, which takes ten times as long as the HMAC.
function hasMac(key: Uint8Array, hash: string, content: string, signature: Buffer): boolean {
  // Anyone could sign with an empty key.
  if (key.length === 0) return false
  const mac = createHmac(hash, key).update(content).digest()
  return mac.length === signature.length && timingSafeEqual(mac, signature)
}

async function isSignedByAny(
  keys: readonly VerificationKey['material'][],
  algorithm: JwsAlgorithm,
  token: string,
  signature: Buffer,
): Promise<boolean> {
  for (const key of keys) if (await isSigned(token, algorithm, key, signature)) return true
  return false
}

async function isSigned(
  token: string,
  algorithm: JwsAlgorithm,
  material: VerificationKey['material'],
  signature: Buffer,
): Promise<boolean> {
  if ('asymmetricKeyType' in material && material.asymmetricKeyType === 'ed448') {
    // jose does not support Ed448.
    return verifyWithNode(null, Buffer.from(token.slice(0, token.lastIndexOf('.'))), material, signature)
  }
  try {
    await compactVerify(token, material, { algorithms: [algorithm] })
    return true
  } catch {
    return false
  }
}
