// Responses of `/storage/v1`.
import type { ServerResponse } from 'node:http'
import { endAfterRequest, isIncomplete } from '../../common/incomplete-request.ts'
import { storageErrorOf } from './database-storage-error.ts'
import type { StorageError } from './storage-error.ts'

type Headers = Readonly<Record<string, string>>

/** Sends JSON text. */
export function sendStorageJson(response: ServerResponse, status: number, text: string, headers: Headers = {}): void {
  const body = Buffer.from(text)
  const { req: request } = response
  const closes = isIncomplete(request)
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
    ...(closes ? { Connection: 'close' } : {}),
    ...headers,
  })
  if (request.method === 'HEAD') response.end()
  else if (closes) endAfterRequest(request, response, body, true)
  else response.end(body)
}

/** The body of an error. */
export const errorBody = ({ statusCode, error, message, code }: StorageError): string =>
  JSON.stringify({ statusCode: String(statusCode), error, message, code })

/**
 * Sends the response to an error, or ends the connection when the response has begun.
 *
 * @param onError receives errors that are not the client's, to log them
 */
export function sendStorageError(response: ServerResponse, error: unknown, onError: (error: unknown) => void): void {
  const known = storageErrorOf(error)
  if (known.statusCode >= 500) onError(known.cause ?? error)
  if (response.headersSent) response.destroy()
  else sendStorageJson(response, known.httpStatus, errorBody(known), known.headers)
}
