// Bodies that are forms, and texts.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { loadExpress } from '../../http/express.ts'
import { AuthError } from './auth-error.ts'

/** Bytes of a form. */
const limit = 100 * 1024

/** The body as text. @throws AuthError 413 */
export async function readText(request: IncomingMessage, response: ServerResponse): Promise<string> {
  const receive = loadExpress().text({ type: () => true, limit })
  await new Promise<void>((resolve, reject) => {
    receive(request, response, (error?: unknown) => {
      if (error === undefined) resolve()
      else reject(new AuthError(413, 'request_entity_too_large', `Request body too large (max ${limit} bytes)`))
    })
  })
  const { body } = request as { readonly body?: unknown }
  return typeof body === 'string' ? body : ''
}

/** The body as a form. @throws AuthError 413 */
export const readForm = async (request: IncomingMessage, response: ServerResponse): Promise<URLSearchParams> =>
  new URLSearchParams(await readText(request, response))
