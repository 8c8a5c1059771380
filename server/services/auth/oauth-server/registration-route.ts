// POST /oauth/clients/register: an application registers itself as a client. RFC 7591
import { dto } from '../../../http/service-response.ts'
import type { AuthContext } from '../auth-context.ts'
import { AuthError } from '../auth-error.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { originOf } from '../request-origin.ts'
import { newClient, type ClientDto } from './client-metadata.ts'
import { requireOAuthServer } from './oauth-refusal.ts'
import { hashOfSecret, newSecret } from './oauth-secrets.ts'
import { oauthStatements } from './oauth-statements.ts'

/** Who registers a client: an administrator by role, or the application itself. */
export type Registrant = {
  readonly kind: 'manual' | 'dynamic'
  readonly actor: string
  readonly ip: string | null
}

/** A client as the API shows it once. */
export type RegisteredClient = { readonly created_at: string; readonly client_secret?: string }

/**
 * Registers a client. Only this response has its secret.
 *
 * @throws AuthError 400 `validation_failed`
 */
export async function registerClient(
  { database }: Pick<AuthContext, 'database'>,
  body: ClientDto,
  { kind, actor, ip }: Registrant,
): Promise<RegisteredClient> {
  const { type, columns } = newClient(body)
  const secret = type === 'confidential' ? newSecret() : undefined
  const stored = {
    ...columns,
    registration_type: kind,
    ...(secret === undefined ? {} : { client_secret_hash: hashOfSecret(secret) }),
  }
  const [client] = await database.ask(oauthStatements.addClient, [JSON.stringify(stored), actor, ip])
  return { ...(client as RegisteredClient), ...(secret === undefined ? {} : { client_secret: secret }) }
}

export const registrationRoute: AuthRoute = defineAuthRoute({
  method: 'post',
  path: '/oauth/clients/register',
  id: 'authOAuthRegister',
  summary: 'Register an OAuth client',
  description: 'Only this response has the secret of a client that is not public.',
  caller: 'anyone',
  limit: 'oauth_client_register',
  body: dto<ClientDto>('AuthOAuthClientDto'),
  success: [201, 'The client.'],
  schema: { type: 'object' },
  errors: {
    403: 'Clients cannot register themselves here.',
    404: 'The OAuth server is disabled.',
  },
  handler: async ({ body, context, request }) => {
    const settings = context.settings()
    requireOAuthServer(settings)
    if (!settings.authOAuthServerAllowDynamicRegistration) {
      throw new AuthError(
        403,
        'oauth_dynamic_client_registration_disabled',
        'Dynamic client registration is not enabled',
      )
    }
    const { ip } = originOf(request, context)
    try {
      const client = await registerClient(context, body, { kind: 'dynamic', actor: 'dynamic', ip })
      return {
        json: {
          ...client,
          client_id_issued_at: Math.floor(Date.parse(client.created_at) / 1000),
          ...(client.client_secret === undefined ? {} : { client_secret_expires_at: 0 }),
        },
      }
    } catch (error) {
      throw asRegistrationError(error)
    }
  },
})

/** RFC 7591, section 3.2.2: with the members of the standard, beside those of GoTrue, which has no others. */
function asRegistrationError(error: unknown): unknown {
  if (!(error instanceof AuthError) || error.code !== 'validation_failed') return error
  const { status, code, message } = error
  const name = message.includes('redirect_uri') ? 'invalid_redirect_uri' : 'invalid_client_metadata'
  return new AuthError(status, code, message, { body: { error: name, error_description: message }, cause: error })
}
