// Responses of `/storage/v1`.
import type { ServerResponse } from 'node:http'
import { sendWhole } from '../../common/incomplete-request.ts'
import { storageErrorOf } from './database-storage-error.ts'
import type { StorageError } from './storage-error.ts'

type Headers = Readonly<Record<string, string>>

/** Sends JSON text. */
export function sendStorageJson(response: ServerResponse, status: number, text: string, headers: Headers = {}): void {
  sendWhole(response, status, Buffer.from(text), { 'Content-Type': 'application/json; charset=utf-8', ...headers })
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
