// Errors of `/functions/v1`, with the codes and messages of Supabase where it has them.
import { TracelessError } from '../../common/traceless-error.ts'

/** A response with an error of the server, not of a function. */
export class FunctionError extends TracelessError {
  readonly status: number
  readonly code: string | number
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: string | number,
    message: string,
    { headers = {}, cause }: { readonly headers?: Readonly<Record<string, string>>; readonly cause?: unknown } = {},
  ) {
    super(message, cause)
    this.name = 'FunctionError'
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** Clients throw `FunctionsRelayError` for it: the server, not a function, has failed. */
const relayError = { 'x-relay-error': 'true' }
const retrySoon = { 'Retry-After': '1' }

export const functionErrors = {
  missingToken: () => new FunctionError(401, 401, 'Missing authorization header'),
  notBearer: () => new FunctionError(401, 401, "Auth header is not 'Bearer {token}'"),
  invalidToken: (cause?: unknown) => new FunctionError(401, 401, 'Invalid JWT', { cause }),
  notFound: () => new FunctionError(404, 'NOT_FOUND', 'Requested function was not found'),
  noName: () => new FunctionError(404, 'NOT_FOUND', 'The path has no name of a function: /functions/v1/{name}'),
  noUpgrade: () =>
    new FunctionError(501, 'UPGRADE_NOT_SUPPORTED', 'Functions of this server cannot be called with a WebSocket'),
  unsupportedMethod: () => new FunctionError(405, 'METHOD_NOT_ALLOWED', 'Functions cannot be called with this method'),
  requestTooLarge: (limit: number) =>
    new FunctionError(413, 'REQUEST_TOO_LARGE', `The body of the request has more than ${limit} bytes`),
  responseTooLarge: (limit: number) =>
    new FunctionError(500, 'RESPONSE_TOO_LARGE', `The response of the function has more than ${limit} bytes`),
  incompleteRequest: () => new FunctionError(400, 'BAD_REQUEST', 'The body of the request has not arrived completely'),
  badProject: (cause: unknown) =>
    new FunctionError(503, 'BOOT_ERROR', 'The functions of this server cannot be read (please check logs)', {
      headers: relayError,
      cause,
    }),
  busy: () => new FunctionError(503, 'BUSY', 'Too many calls of functions at the same time', { headers: retrySoon }),
  ending: () => new FunctionError(503, 'BUSY', 'The server is restarting', { headers: retrySoon }),
  unavailable: (cause: unknown) =>
    new FunctionError(503, 'UNAVAILABLE', 'The database is not available at the moment', {
      headers: { ...relayError, ...retrySoon },
      cause,
    }),
  unreachable: (cause: unknown) =>
    new FunctionError(502, 'BAD_GATEWAY', 'The server of the functions cannot be reached', {
      headers: relayError,
      cause,
    }),
  timedOut: (seconds: number) =>
    new FunctionError(504, 'IDLE_TIMEOUT', `The function has not responded within ${seconds} s`, {
      headers: relayError,
    }),
  internal: (cause: unknown) =>
    new FunctionError(500, 'INTERNAL_ERROR', 'Internal server error', { headers: relayError, cause }),
} as const
