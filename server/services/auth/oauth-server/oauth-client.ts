// Clients of the OAuth server, as requests are compared with them.
import type { AuthContext } from '../auth-context.ts'
import { isUuid } from '../../../text/uuid.ts'
import { oauthStatements } from './oauth-statements.ts'

export const authMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const
export type ClientAuthMethod = (typeof authMethods)[number]

export const grantTypes = ['authorization_code', 'refresh_token'] as const

export type OAuthClient = {
  readonly id: string
  /** Null for a public client. */
  readonly secret_hash: string | null
  readonly type: 'public' | 'confidential'
  readonly method: ClientAuthMethod
  readonly redirect_uris: readonly string[]
  readonly grant_types: readonly string[]
  /** As the API shows it. */
  readonly shown: { readonly registration_type: 'dynamic' | 'manual' }
}

/** The client with an id; undefined if it is unknown or was deleted. */
export async function findClient(
  { database }: Pick<AuthContext, 'database'>,
  id: string,
): Promise<OAuthClient | undefined> {
  if (!isUuid(id)) return undefined
  const [found] = await database.ask(oauthStatements.findClient, [id])
  return (found ?? undefined) as OAuthClient | undefined
}
