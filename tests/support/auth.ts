// Requests to `/auth/v1` of a running service.
import { decodeJwt, type JWTPayload } from 'jose'

/** Any part of a response. */
export type Json = Readonly<Record<string, unknown>>

export type AuthAnswer = {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
  readonly text: string
}

export type AskAuth = (
  method: string,
  path: string,
  more?: {
    readonly body?: unknown
    /** Sent as it is. */
    readonly text?: string
    readonly token?: string | undefined
    readonly headers?: Readonly<Record<string, string>>
  },
) => Promise<AuthAnswer>

/** @param url of the service, without `/auth/v1` */
export const askAuth =
  (url: string): AskAuth =>
  async (method, path, { body, text, token, headers = {} } = {}) => {
    const sent = text ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(`${url}/auth/v1${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(sent === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
    })
    const received = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return {
      status: response.status,
      headers: response.headers,
      text: received,
      body: isJson ? (JSON.parse(received) as Json) : {},
    }
  }

/** The parts of a response with a session. */
export type SessionBody = {
  readonly access_token: string
  readonly refresh_token: string
  readonly token_type: string
  readonly expires_in: number
  readonly expires_at: number
  readonly user: Json & { readonly id: string; readonly user_metadata: Json; readonly app_metadata: Json }
}

export const sessionOf = ({ body, text }: AuthAnswer): SessionBody => {
  if (typeof body.access_token !== 'string') throw new Error(`not a session: ${text}`)
  return body as unknown as SessionBody
}

export const claimsOf = ({ access_token: token }: SessionBody): JWTPayload & Json => decodeJwt(token)

let users = 0
/** An address that no other call returns. */
export const newAddress = (): string => `user-${process.pid}-${++users}@example.org`

export const password = 'correct horse battery'

/** Signs up with a new address, or the given one, at a service that confirms addresses at once. */
export async function signUp(ask: AskAuth, email = newAddress(), data?: Json): Promise<SessionBody> {
  return sessionOf(await ask('POST', '/signup', { body: { email, password, ...(data ? { data } : {}) } }))
}

/** Signs in by an e-mail address and a password. */
export const passwordGrant = (ask: AskAuth, email: unknown, secret = password): Promise<AuthAnswer> =>
  ask('POST', '/token?grant_type=password', { body: { email, password: secret } })

export const refreshGrant = (ask: AskAuth, token: string): Promise<AuthAnswer> =>
  ask('POST', '/token?grant_type=refresh_token', { body: { refresh_token: token } })

/** The code of an error in either format. */
export const codeOf = ({ body, headers }: AuthAnswer): unknown =>
  body.error_code ?? body.code ?? headers.get('x-sb-error-code')
