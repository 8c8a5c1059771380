// How a client proves its id at the token endpoint. RFC 6749, section 2.3
import type { IncomingMessage } from 'node:http'
import type { AuthContext } from '../auth-context.ts'
import { AuthError, OAuthError } from '../auth-error.ts'
import { isUuid } from '../../../text/uuid.ts'
import { findClient, type ClientAuthMethod, type OAuthClient } from './oauth-client.ts'
import { hasHash } from './oauth-secrets.ts'
import type { TokenParameters } from './token-parameters.ts'

type Credentials = { readonly id: string; readonly secret: string; readonly method: ClientAuthMethod }

const refused = (message: string): AuthError => new AuthError(400, 'invalid_credentials', message)

/**
 * The client that sends a token request.
 *
 * @throws AuthError 400 `invalid_credentials`; OAuthError `invalid_request` for two ways at once
 */
export async function authenticateClient(
  context: Pick<AuthContext, 'database'>,
  request: IncomingMessage,
  parameters: TokenParameters,
): Promise<OAuthClient> {
  const { id, secret, method } = credentialsOf(request, parameters)
  if (!isUuid(id)) throw refused('Invalid client_id format')
  const client = await findClient(context, id)
  if (!client) throw refused('Invalid client credentials')
  if (method !== client.method) {
    throw refused(`invalid authentication method: client is registered for '${client.method}' but '${method}' was used`)
  }
  // Public clients have no secret: PKCE proves that they have started the flow.
  if (client.type === 'confidential' && !(client.secret_hash !== null && hasHash(secret, client.secret_hash))) {
    throw refused('invalid client credentials')
  }
  return client
}

function credentialsOf({ headers }: IncomingMessage, { client_id, client_secret }: TokenParameters): Credentials {
  const [, encoded] = /^basic +(.*)$/i.exec(headers.authorization ?? '') ?? []
  if (encoded !== undefined) {
    const basic = basicCredentials(encoded)
    if (client_secret !== undefined || (client_id !== undefined && client_id !== basic.id)) {
      throw new OAuthError('invalid_request', 'Client credentials must be given either in the header or in the body')
    }
    return basic
  }
  if (client_id === undefined) throw refused('Invalid client credentials: client_id is required')
  return client_secret === undefined
    ? { id: client_id, secret: '', method: 'none' }
    : { id: client_id, secret: client_secret, method: 'client_secret_post' }
}

/** Id and secret are encoded as in a form (RFC 6749, appendix B), which changes neither of ours. */
function basicCredentials(encoded: string): Credentials {
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  if (id === undefined || secret === undefined) throw refused('Invalid client credentials: invalid basic auth format')
  return { id: formDecoded(id), secret: formDecoded(secret), method: 'client_secret_basic' }
}

function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw refused('Invalid client credentials: invalid basic auth encoding')
  }
}
