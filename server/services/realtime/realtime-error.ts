// Errors of `/realtime/v1`, over HTTP and in replies to joins.
import { TracelessError } from '../../common/traceless-error.ts'

/** A response with an error. */
export class RealtimeError extends TracelessError {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>

  constructor(status: number, body: Readonly<Record<string, unknown>>, cause?: unknown) {
    super(JSON.stringify(body), cause)
    this.name = 'RealtimeError'
    this.status = status
    this.body = body
  }
}

export const realtimeErrors = {
  unauthorized: (status = 401) => new RealtimeError(status, { message: 'Unauthorized' }),
  invalid: (errors: Readonly<Record<string, unknown>>) => new RealtimeError(422, { errors }),
  tooManyRequests: (message: string) => new RealtimeError(429, { message }),
  unsupportedType: () =>
    new RealtimeError(415, {
      error: 'Unsupported Media Type. Use application/json or application/octet-stream',
    }),
  notFound: () => new RealtimeError(404, { message: 'not found' }),
  unavailable: (cause: unknown) =>
    new RealtimeError(503, { message: 'Realtime was unable to connect to the project database' }, cause),
  internal: (cause: unknown) => new RealtimeError(500, { message: 'Internal server error' }, cause),
}

/** Codes of refused joins. Clients decide by them whether to try again. */
export type JoinCode =
  | 'TopicNameRequired'
  | 'ChannelRateLimitReached'
  | 'ClientJoinRateLimitReached'
  | 'InvalidJWTToken'
  | 'MalformedJWT'
  | 'JwtSignatureError'
  | 'JwtSignerError'
  | 'Unauthorized'
  | 'PrivateOnly'
  | 'UnableToReplayMessages'
  | 'PostgresChangesSubscribeTimeout'
  | 'RealtimeDisabledForConfiguration'
  | 'RealtimeRestarting'
  | 'UnableToConnectToProject'

/** A join is refused, or a channel ends. */
export class ChannelRefused extends TracelessError {
  readonly code: JoinCode

  constructor(code: JoinCode, message: string, cause?: unknown) {
    super(message, cause)
    this.name = 'ChannelRefused'
    this.code = code
  }
}
