// Authenticates requests to the REST API by API key, JWT, both, or neither (the anonymous role).
import type { ApiKeyLookup } from './api-key/api-key-lookup.ts'
import { isApiKey } from './api-key/api-key.ts'
import { credentialErrors, type CredentialError } from './credential-error.ts'
import type { Identity } from './identity.ts'
import { bearerToken } from './bearer.ts'
import { permitted } from './internal-role.ts'
import type { JwtVerifier } from './jwt/jwt.ts'

/**
 * The identity of a request. With both an `apikey` header and a bearer token, the token decides, but the key must be
 * valid, too, and its limits apply. Before sign-in, Supabase clients send the key as the bearer token as well. Without credentials the identity
 * is the anonymous role.
 *
 * @throws CredentialError for any invalid credential; none is silently ignored
 */
export function authenticate(
  authorization: string | undefined,
  apikey: string | undefined,
  verifier: JwtVerifier,
  lookup: ApiKeyLookup,
): Identity | Promise<Identity> {
  const bearer = bearerToken(authorization)
  const identify = (credential: string | undefined): Identity | Promise<Identity> => {
    const identity = credential !== undefined && isApiKey(credential) ? lookup(credential) : verifier.verify(credential)
    return identity instanceof Promise ? identity.then(permitted) : permitted(identity)
  }
  if (apikey !== undefined && !isApiKey(apikey) && apikey.split('.', 4).length !== 3) throw notAKey()
  if (apikey === undefined) return identify(bearer)
  if (bearer === undefined || bearer === apikey) return identify(apikey)
  const key = identify(apikey)
  return key instanceof Promise ? key.then((found) => withKey(identify(bearer), found)) : withKey(identify(bearer), key)
}

/** Adds the limits of the key that a request was sent with, besides its token. */
function withKey(identity: Identity | Promise<Identity>, { key }: Identity): Identity | Promise<Identity> {
  if (key === undefined) return identity
  return identity instanceof Promise ? identity.then((of) => ({ ...of, key })) : { ...identity, key }
}

const notAKey = (): CredentialError =>
  credentialErrors.invalidToken(
    'The apikey header is neither an API key nor a JWT',
    'An API key begins with sb_publishable_ or sb_secret_. A JWT has three parts, separated by dots.',
  )
