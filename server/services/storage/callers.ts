// Who sends a request to `/storage/v1`.
import type { IncomingMessage } from 'node:http'
import type { ApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import { authenticate } from '../../identity/authenticate.ts'
import { CredentialError } from '../../identity/credential-error.ts'
import { lastingIdentity, type Identity } from '../../identity/identity.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import { storageErrors } from './storage-error.ts'

export type StorageCaller = {
  readonly identity: Identity
  /** Whether the request has a valid token or API key. */
  readonly isAuthenticated: boolean
  /** The subject of the token, which owns what it uploads. */
  readonly owner: string | null
}

/**
 * `anyone`: credentials are not read. `optional`: invalid credentials are ignored. `required`: a token or API key.
 * `service`: one with the role `service_role`.
 */
export type CallerKind = 'anyone' | 'optional' | 'required' | 'service'

export type StorageCallers = {
  /** @throws StorageError 403 without credentials; CredentialError for invalid ones */
  readonly identify: (request: IncomingMessage, kind: CallerKind) => Promise<StorageCaller>
}

/** The role of the secret key. */
export const serviceRole = 'service_role'

const anonymous: StorageCaller = { identity: lastingIdentity('anon', {}), isAuthenticated: false, owner: null }

/** @param verifier read at each request, because the settings can be reloaded */
export function createStorageCallers(verifier: () => JwtVerifier, lookup: ApiKeyLookup): StorageCallers {
  const authenticated = async (request: IncomingMessage): Promise<StorageCaller> => {
    const { authorization, apikey } = request.headers
    const key = Array.isArray(apikey) ? apikey[0] : apikey
    if (authorization === undefined && key === undefined) {
      // As behind Supabase's gateway, where the token is empty then.
      throw storageErrors.accessDenied('Invalid Compact JWS')
    }
    const identity = await authenticate(authorization ?? undefined, key, verifier(), lookup)
    const { sub } = identity.claims
    return { identity, isAuthenticated: true, owner: typeof sub === 'string' ? sub : null }
  }
  return {
    identify: async (request, kind) => {
      if (kind === 'anyone') return anonymous
      if (kind === 'optional') {
        try {
          return await authenticated(request)
        } catch (error) {
          if (error instanceof CredentialError || isMissing(request)) return anonymous
          throw error
        }
      }
      const caller = await authenticated(request)
      if (kind === 'service' && caller.identity.role !== serviceRole) throw storageErrors.wrongRole()
      return caller
    },
  }
}

const isMissing = ({ headers: { authorization, apikey } }: IncomingMessage): boolean =>
  authorization === undefined && apikey === undefined
