// Flows: sign-ins that continue in another request, at a provider or with the code of PKCE. See the functions of
// `000007_providers.sql`.
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { AuthDatabase } from './auth-database.ts'
import { AuthError, authErrors } from './auth-error.ts'
import type { PkceChallenge } from './confirmations.ts'
import { isEmpty } from './request-text.ts'
import type { AmrMethod, SessionOrigin, StartedSession } from './sessions.ts'
import { isUuid } from '../../text/uuid.ts'

const create = new JsonStatement('select auth.create_flow_state($1::json)', { access: 'write' })
const startLinking = new JsonStatement('select auth.start_linking($1::json)', { access: 'write' })
const issue = new JsonStatement('select auth.issue_auth_code($1::uuid, $2)', { access: 'write' })
const exchange = new JsonStatement(
  "select result, started from auth.exchange_auth_code($1, $2, $3::float8 * interval '1 second', $4, $5)",
  { access: 'write' },
)
const take = new JsonStatement("select auth.take_oauth_state($1::uuid, $2::float8 * interval '1 second')", {
  access: 'write',
})

const keep = new JsonStatement(
  `update auth.oauth_client_states set code_verifier = $2
   from auth.flow_state where flow_state.id = $1::uuid and oauth_client_states.id = oauth_client_state_id
   returning to_json(flow_state.id)`,
  { access: 'write' },
)

/** A flow that begins with a mail or a message. */
export type NewFlow = {
  readonly userId: string
  /** How the user will have signed in: the method of the session. */
  readonly method: AmrMethod
  /** `email`, `phone` or the method. */
  readonly provider: string
  readonly challenge: PkceChallenge
}

/** An account that gets an identity, and the session that asks for it; null for a token without one. */
export type LinkingTarget = { readonly userId: string; readonly sessionId: string | null }

/** A flow at a provider. */
export type NewProviderFlow = {
  readonly provider: string
  /** Undefined in the implicit flow. */
  readonly challenge: PkceChallenge | undefined
  /** The secret of PKCE between `/auth/v1` and the provider. */
  readonly codeVerifier: string
  /** Where the flow returns to. It must have been checked. */
  readonly returnTo: string
  /** Whose account gets the identity; undefined to sign in. */
  readonly linkingTarget: LinkingTarget | undefined
  /** The token of the invitation that the sign-in accepts. */
  readonly inviteToken?: string | undefined
  readonly emailOptional: boolean
}

/** What a code was exchanged for. */
export type ExchangedFlow = {
  readonly method: AmrMethod
  readonly provider: string
  readonly provider_token: string | null
  readonly provider_refresh_token: string | null
  readonly started: StartedSession
}

/** A flow at a provider that continues. */
export type ProviderFlow = {
  readonly flow_id: string
  readonly provider: string
  readonly code_verifier: string
  readonly referrer: string
  readonly linking_target_id: string | null
  readonly linking_session_id: string | null
  readonly invite_token: string | null
  readonly email_optional: boolean
  readonly is_pkce: boolean
}

type Exchange =
  | { readonly outcome: 'not_found' | 'expired' | 'bad_verifier' }
  | (Omit<ExchangedFlow, 'started'> & { readonly outcome: 'exchanged' })
type Taking = { readonly outcome: 'not_found' | 'expired' | 'used' } | (ProviderFlow & { readonly outcome: 'taken' })

export class FlowStates {
  readonly #database: Pick<AuthDatabase, 'ask' | 'askRows'>
  /** Seconds. */
  readonly #lifetime: () => number

  /** @param lifetime seconds that a flow at a provider may take, and that a code is valid; read at each of them */
  constructor(database: Pick<AuthDatabase, 'ask' | 'askRows'>, lifetime: () => number) {
    this.#database = database
    this.#lifetime = lifetime
  }

  /** Starts the flow of a mail or a message with PKCE. Its code is issued by `issueCode` when the user responds to it. */
  async create({ userId, method, provider, challenge }: NewFlow): Promise<void> {
    await this.#create({ user_id: userId, authentication_method: method, provider_type: provider }, challenge)
  }

  /**
   * Starts a flow at a provider, and returns its id, the parameter `state`.
   *
   * @throws AuthError 403 `insufficient_aal` for a link by a session that has not used the second factor of its account
   */
  createAtProvider(flow: NewProviderFlow): Promise<string> {
    const { provider, challenge, codeVerifier, returnTo, linkingTarget, inviteToken, emailOptional } = flow
    const members = {
      provider_type: provider,
      authentication_method: 'oauth',
      code_verifier: codeVerifier,
      referrer: returnTo,
      ...(linkingTarget && { linking_target_id: linkingTarget.userId, session_id: linkingTarget.sessionId }),
      ...(inviteToken === undefined ? {} : { invite_token: inviteToken }),
      email_optional: emailOptional,
    }
    return this.#create(members, challenge, linkingTarget ? startLinking : create)
  }

  /** Keeps for the callback of a flow, as its code verifier, what the provider gave before the user signs in there. */
  async keep(state: string, secret: string): Promise<void> {
    await this.#database.ask(keep, [state, secret])
  }

  async #create(members: object, challenge: PkceChallenge | undefined, statement = create): Promise<string> {
    const pkce = challenge && { code_challenge: challenge.challenge, code_challenge_method: challenge.method }
    const [created] = await this.#database.ask(statement, [JSON.stringify({ ...members, ...pkce })])
    return (created as { readonly id: string }).id
  }

  /**
   * The code of the newest flow of a user with a method, for the redirect to the client.
   *
   * @throws AuthError 422 `flow_state_not_found`
   */
  async issueCode(userId: string, method: AmrMethod): Promise<string> {
    const [issued] = (await this.#database.ask(issue, [userId, method])) as { readonly auth_code: string }[]
    if (!issued) throw new AuthError(422, 'flow_state_not_found', 'No valid flow state found for user.')
    return issued.auth_code
  }

  /**
   * Exchanges a code, which is then used up, for a session.
   *
   * @throws AuthError 404 `flow_state_not_found`, 422 `flow_state_expired`, 400 `bad_code_verifier`
   */
  async exchange(code: string, codeVerifier: string, { ip, userAgent }: SessionOrigin): Promise<ExchangedFlow> {
    const values = [code, codeVerifier, this.#lifetime(), ip, userAgent]
    const [[result, started] = []] = await this.#database.askRows(exchange, values)
    const flow = JSON.parse(result ?? '') as Exchange
    switch (flow.outcome) {
      case 'exchanged':
        return { ...flow, started: started ?? '' }
      case 'not_found':
        throw new AuthError(404, 'flow_state_not_found', 'invalid flow state, no valid flow state found')
      case 'expired':
        throw new AuthError(422, 'flow_state_expired', 'invalid flow state, flow state has expired')
      case 'bad_verifier': {
        const message = 'code challenge does not match previously saved code verifier'
        throw new AuthError(400, 'bad_code_verifier', message)
      }
      default:
        return flow satisfies never
    }
  }

  /**
   * Continues the flow of a callback. A state is used up by its first callback.
   *
   * @param state the parameter `state`
   * @throws AuthError 400 `bad_oauth_callback`, `bad_oauth_state` or `flow_state_already_used`
   */
  async take(state: string | null): Promise<ProviderFlow> {
    if (isEmpty(state)) {
      throw new AuthError(400, 'bad_oauth_callback', 'OAuth state parameter missing')
    }
    if (!isUuid(state)) throw new AuthError(400, 'bad_oauth_state', 'OAuth state parameter is invalid')
    const [taking] = await this.#database.ask(take, [state, this.#lifetime()])
    const flow = taking as Taking
    switch (flow.outcome) {
      case 'taken':
        return flow
      case 'not_found':
        throw new AuthError(400, 'bad_oauth_state', 'OAuth state not found or expired')
      case 'expired':
        throw new AuthError(400, 'bad_oauth_state', 'OAuth state has expired')
      case 'used':
        throw authErrors.flowUsed()
      default:
        return flow satisfies never
    }
  }
}
