// Responses of `/storage/v1`.
import type { ServerResponse } from 'node:http'
import { sendWhole } from '../../common/incomplete-request.ts'
import type { StorageError } from './storage-error.ts'

type Headers = Readonly<Record<string, string>>

/** Sends JSON text. */
export function sendStorageJson(response: ServerResponse, status: number, text: string, headers: Headers = {}): void {
  sendWhole(response, status, Buffer.from(text), { 'Content-Type': 'application/json; charset=utf-8', ...headers })
}

/** The body of an error. */
export const errorBody = ({ statusCode, error, message, code }: StorageError): string =>
  JSON.stringify({ statusCode: String(statusCode), error, message, code })
