// Clients of the OAuth server, at a running service.
import { createHash, randomBytes } from 'node:crypto'
import type { AskAuth, AuthAnswer, Json } from './auth.ts'

export const redirectUri = 'https://client.example/callback?from=rowhouse'

/** What clients and tokens are made with. */
export type Flow = { readonly ask: AskAuth; readonly admin: string }

export type RegisteredClient = Json & { readonly client_id: string; readonly client_secret?: string }

/** Registers a client as an administrator; public unless the members say otherwise. */
export async function registerClient({ ask, admin }: Flow, members: Json = {}): Promise<RegisteredClient> {
  const body = {
    client_name: 'Notes',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
    ...members,
  }
  const { status, body: client, text } = await ask('POST', '/admin/oauth/clients', { token: admin, body })
  if (status !== 201) throw new Error(text)
  return client as RegisteredClient
}

/** A verifier of PKCE with its challenge. */
export function pkce(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** The query of a request for access; undefined members are left out. */
export function accessQuery(
  clientId: string,
  challenge: string,
  members: Record<string, string | undefined> = {},
): string {
  const all = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'email profile',
    state: 'of the client',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...members,
  }
  return new URLSearchParams(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  ).toString()
}

/** Where a response leads to. */
export function locationOf({ headers, status, text }: AuthAnswer): URL {
  const location = headers.get('location')
  if (location === null) throw new Error(`${status} ${text}`)
  return new URL(location)
}

export type Started = { readonly id: string; readonly verifier: string }

/** A client sends a person to the server. @returns the name of the request for the page that asks the person */
export async function startAccess(
  { ask }: Flow,
  clientId: string,
  members: Record<string, string | undefined> = {},
): Promise<Started> {
  const { verifier, challenge } = pkce()
  const answer = await ask('GET', `/oauth/authorize?${accessQuery(clientId, challenge, members)}`)
  const id = locationOf(answer).searchParams.get('authorization_id')
  if (id === null) throw new Error(locationOf(answer).href)
  return { id, verifier }
}

export const openRequest = ({ ask }: Flow, id: string, token: string): Promise<AuthAnswer> =>
  ask('GET', `/oauth/authorizations/${id}`, { token })

export const answerRequest = ({ ask }: Flow, id: string, token: string, action = 'approve'): Promise<AuthAnswer> =>
  ask('POST', `/oauth/authorizations/${id}/consent`, { token, body: { action } })

/** The code of a response with a `redirect_url`. */
export function returnedCode({ body, text }: AuthAnswer): string {
  const code = new URL(String(body.redirect_url)).searchParams.get('code')
  if (code === null) throw new Error(text)
  return code
}

/** A code that a person has approved. */
export async function approvedCode(
  flow: Flow,
  clientId: string,
  token: string,
  members: Record<string, string | undefined> = {},
): Promise<{ readonly code: string; readonly verifier: string }> {
  const { id, verifier } = await startAccess(flow, clientId, members)
  const opened = await openRequest(flow, id, token)
  const answer = opened.body.redirect_url === undefined ? await answerRequest(flow, id, token) : opened
  return { code: returnedCode(answer), verifier }
}

/** Sends a form to the token endpoint; undefined members are left out. */
export const askToken = (
  { ask }: Pick<Flow, 'ask'>,
  members: Record<string, string | undefined>,
  headers: Record<string, string> = {},
): Promise<AuthAnswer> =>
  ask('POST', '/oauth/token', {
    text: new URLSearchParams(
      Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
  })

export type ClientTokens = {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token?: string
  readonly expires_in: number
}

export function tokensOf({ body, text }: AuthAnswer): ClientTokens {
  if (typeof body.access_token !== 'string') throw new Error(`no tokens: ${text}`)
  return body as unknown as ClientTokens
}

/** The tokens that a public client gets for a person. */
export async function grantedTokens(
  flow: Flow,
  clientId: string,
  token: string,
  members: Record<string, string | undefined> = {},
): Promise<ClientTokens> {
  const { code, verifier } = await approvedCode(flow, clientId, token, members)
  const form = { grant_type: 'authorization_code', client_id: clientId, code, code_verifier: verifier }
  return tokensOf(await askToken(flow, form))
}

/** Exchanges a refresh token as a public client. */
export const refreshTokens = (flow: Pick<Flow, 'ask'>, clientId: string, token: string): Promise<AuthAnswer> =>
  askToken(flow, { grant_type: 'refresh_token', client_id: clientId, refresh_token: token })
