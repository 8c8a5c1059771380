// The tokens of signed URLs. Each is for one action on one object.
//
// They are signed with keys that are derived from those of access tokens, for this purpose only. So no access token or
// API key is accepted as the token of a URL, and no token of a URL as a credential, whatever their claims are.
import { createSecretKey, type KeyObject } from 'node:crypto'
import type { JWTPayload } from 'jose'
import * as errors from 'jose/errors'
import { SignJWT } from 'jose/jwt/sign'
import { jwtVerify } from 'jose/jwt/verify'
import { derivedFromKeys, derivedSecrets, type KeySource } from '../../identity/jwt/key-set.ts'
import { StorageError, storageErrors } from './storage-error.ts'

/** What a token permits. */
export type DownloadGrant = {
  /** `bucket/name`. */
  readonly url: string
  /** How the image is transformed, as in `X-Transformations`; undefined for the object itself. */
  readonly transformations?: string | undefined
  /** Format of the transformed image. */
  readonly format?: string | undefined
}

export type UploadGrant = {
  /** `bucket/name`. */
  readonly url: string
  /** The column `owner_id` of the object. */
  readonly owner?: string | undefined
  /** Whether an existing object may be replaced. */
  readonly upsert: boolean
}

/** When the token expires, in seconds since 1970. */
type Expiring = { readonly exp: number }

export type SignedTokens = {
  /**
   * @param seconds until the token expires
   * @throws StorageError 400 `InvalidParameter` when the time is out of range, 500 when no key can sign
   */
  readonly signDownload: (grant: DownloadGrant, seconds: number) => Promise<string>
  readonly signUpload: (grant: UploadGrant, seconds: number) => Promise<string>
  /**
   * Checks a token for the object `bucket/name`, which may still be encoded: clients encode signed URLs, which are encoded.
   *
   * @returns what the token permits, with the name of the object as it is
   * @throws StorageError 400 `InvalidJWT`, or `InvalidSignature` for another action or object
   */
  readonly verifyDownload: (token: string, url: string) => Promise<DownloadGrant & Expiring>
  readonly verifyUpload: (token: string, url: string) => Promise<UploadGrant & Expiring>
}

/**
 * The token in the query string of a signed URL.
 *
 * @throws StorageError 400 without a token
 */
export function tokenOf({ query }: { readonly query: URLSearchParams }): string {
  const token = query.get('token')
  if (token === null) throw storageErrors.validation("querystring must have required property 'token'")
  return token
}

/** `bucket/name` of the path of a signed URL. */
export const urlIn = ({ path }: { readonly path: Readonly<Record<string, string>> }): string =>
  `${path.bucket ?? ''}/${path.name ?? ''}`

/** The bucket and the name in the claim `url`. */
export function placeOf({ url }: { readonly url: string }): { readonly bucket: string; readonly name: string } {
  const end = url.indexOf('/')
  return { bucket: url.slice(0, end), name: url.slice(end + 1) }
}

/** A name that was encoded twice and decoded once; undefined if it was not encoded twice. */
function decodedAgain(name: string): string | undefined {
  try {
    return decodeURIComponent(name)
  } catch {
    return undefined
  }
}

type UrlKey = { readonly kid: string; readonly key: KeyObject }
type Scope = 'download' | 'upload'

/** The latest time of the header `Expires`, which has four digits for the year, in seconds since 1970. */
const latest = Date.UTC(9999, 11, 31) / 1000

/** @param keys read for each token, because the keys can be reloaded */
export function createSignedTokens(keys: () => KeySource): SignedTokens {
  const urlKeys = derivedFromKeys(keys, (source): readonly UrlKey[] =>
    derivedSecrets(source, 'storage signed URLs').map(({ kid, secret }) => ({ kid, key: createSecretKey(secret) })),
  )

  const sign = async (claims: JWTPayload, seconds: number): Promise<string> => {
    const now = Math.floor(Date.now() / 1000)
    if (!Number.isSafeInteger(seconds) || seconds < 1 || seconds > latest - now) {
      throw storageErrors.invalidParameter('expiresIn')
    }
    const [first] = urlKeys()
    if (!first) throw noKey()
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: first.kid })
      .setIssuedAt(now)
      .setExpirationTime(now + seconds)
      .sign(first.key)
  }

  const verify = async (token: string, url: string, scope: Scope): Promise<JWTPayload & Expiring> => {
    const known = urlKeys()
    const [first] = known
    if (!first) throw noKey()
    const payload = await payloadOf(token, ({ kid }) => (known.find((key) => key.kid === kid) ?? first).key)
    if (payload.scope !== scope) throw storageErrors.invalidSignature(`Token is not scoped for ${scope}`)
    if (payload.url !== url && payload.url !== decodedAgain(url)) throw storageErrors.invalidSignature()
    return payload
  }

  return {
    signDownload: ({ url, transformations, format }, seconds) =>
      sign({ url, scope: 'download', ...optional({ transformations, format }) }, seconds),
    signUpload: ({ url, owner, upsert }, seconds) =>
      sign({ ...optional({ owner }), url, upsert, scope: 'upload' }, seconds),
    verifyDownload: async (token, url) => {
      const { transformations, format, exp, ...claims } = await verify(token, url, 'download')
      return { url: textOf(claims.url) ?? '', transformations: textOf(transformations), format: textOf(format), exp }
    },
    verifyUpload: async (token, url) => {
      const { owner, upsert, exp, ...claims } = await verify(token, url, 'upload')
      return { url: textOf(claims.url) ?? '', owner: textOf(owner), upsert: upsert === true, exp }
    },
  }
}

/** The claims of a token with a valid signature and time. Messages are jose's, as in Supabase's storage. */
async function payloadOf(
  token: string,
  keyOf: (header: { readonly kid?: string }) => KeyObject,
): Promise<JWTPayload & Expiring> {
  try {
    const { payload } = await jwtVerify(token, keyOf, { algorithms: ['HS256'], requiredClaims: ['exp'] })
    return { ...payload, exp: payload.exp ?? 0 }
  } catch (error) {
    if (error instanceof errors.JOSEError) throw storageErrors.invalidJwt(error.message)
    throw error
  }
}

const optional = (claims: Readonly<Record<string, string | undefined>>): JWTPayload =>
  Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined && value !== ''))

const textOf = (claim: unknown): string | undefined => (typeof claim === 'string' ? claim : undefined)

const noKey = (): StorageError =>
  new StorageError(500, 'InternalError', 'No key of the server can sign URLs: set a JWT secret or a private key')
