// The path of `/functions/v1`, its rules for pages of other origins, and how errors are sent.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendWhole } from '../../common/incomplete-request.ts'
import { answerCrossOrigin, tokenRules, type CrossOriginRules } from '../../http/cross-origin.ts'
import type { FunctionError } from './function-error.ts'

/** Where all functions are. */
export const functionsPath = '/functions/v1'

/** Clients of other origins read headers of functions, and `x-relay-error`. */
export const functionsCrossOrigin: CrossOriginRules = { ...tokenRules, exposed: '*' }

/**
 * Sends an error, which pages of other origins may read. A preflight request gets the answer that lets the page send its
 * request, whose error it can read then.
 *
 * @param origins those of the settings
 */
export function sendFunctionError(
  request: IncomingMessage,
  response: ServerResponse,
  origins: readonly string[],
  { status, code, message, headers }: Pick<FunctionError, 'status' | 'code' | 'message' | 'headers'>,
): void {
  if (answerCrossOrigin(request, response, origins, functionsCrossOrigin)) return
  const body = Buffer.from(JSON.stringify({ code, message }))
  sendWhole(response, status, body, { 'Content-Type': 'application/json; charset=utf-8', ...headers })
}
