// The response to a request that is refused because the server is overloaded, in the form that its service has for errors.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isBelow } from '../../adapters/base-path.ts'
import { isIncomplete, sendWhole } from '../../common/incomplete-request.ts'
import { serverName } from '../../common/version.ts'
import { failures, sendFailure } from '../../http/envelope.ts'
import { corsHeaders } from '../../rest/cors.ts'
import { errorBody, errors } from '../../rest/errors.ts'
import { problems } from '../../services/analysis/problem.ts'
import { authPath } from '../../services/auth/dialect.ts'
import { sendAuthError } from '../../services/auth/auth-response.ts'
import { authErrors } from '../../services/auth/auth-error.ts'
import { storageErrors } from '../../services/storage/storage-error.ts'
import { errorBody as storageErrorBody } from '../../services/storage/storage-response.ts'
import { storagePath } from '../../services/storage/dialect.ts'

export type OverloadResponseOptions = {
  /** Mount path of the image analysis; undefined without it. */
  readonly analysisPath: string | undefined
  /** Origins that browsers may send requests from, read at each refusal. */
  readonly allowedOrigins: () => readonly string[]
  readonly verbosity: () => 'verbose' | 'minimal'
}

/** Seconds after which clients may try again. */
const retryAfter: readonly [string, string] = ['Retry-After', '1']
const json = 'application/json; charset=utf-8'

/** @returns sends 503 with `Retry-After` */
export function overloadResponder({ analysisPath, allowedOrigins, verbosity }: OverloadResponseOptions) {
  const { code, status, headers } = errors.overloaded()
  const bodies = {
    verbose: errorBody(errors.overloaded(), 'verbose'),
    minimal: errorBody(errors.overloaded(), 'minimal'),
  }
  const restHeaders: Readonly<Record<string, string>> = {
    Server: serverName,
    'Content-Type': json,
    'Proxy-Status': `PostgREST; error=${code}`,
    ...Object.fromEntries(headers),
  }
  const flatHeaders = (body: string): readonly string[] => [
    ...Object.entries(restHeaders).flat(),
    'Content-Length',
    String(Buffer.byteLength(body)),
  ]
  const heads = { verbose: flatHeaders(bodies.verbose), minimal: flatHeaders(bodies.minimal) }
  const storage = storageErrors.overloaded()
  const storageBody = Buffer.from(storageErrorBody(storage))
  const problem = problems.overloaded()
  const problemBody = Buffer.from(JSON.stringify({ detail: problem.detail }))
  const others = { 'Content-Type': json, 'Cache-Control': 'no-store', [retryAfter[0]]: retryAfter[1] }
  return (request: IncomingMessage, response: ServerResponse, target: string, isRest: boolean): void => {
    const { origin } = request.headers
    if (isRest && origin === undefined && !isIncomplete(request)) {
      // Most refusals: as cheap as Node allows. The texts are ASCII, and `joined-writes.ts` writes Latin-1 in one piece.
      response.writeHead(status, [...heads[verbosity()]])
      response.end(request.method === 'HEAD' ? '' : bodies[verbosity()], 'latin1')
      return
    }
    response.setHeader('Server', serverName)
    if (origin !== undefined) {
      for (const [name, value] of corsHeaders(origin, allowedOrigins(), [retryAfter]))
        response.appendHeader(name, value)
      response.appendHeader('Vary', 'Origin')
    }
    if (isRest) sendWhole(response, status, Buffer.from(bodies[verbosity()]), restHeaders)
    else if (isBelow(target, storagePath)) sendWhole(response, storage.httpStatus, storageBody, others)
    else if (isBelow(target, authPath)) sendAuthError(response, authErrors.overloaded())
    else if (analysisPath !== undefined && isBelow(target, analysisPath)) {
      sendWhole(response, problem.status, problemBody, others)
    } else sendFailure(response, failures.overloaded())
  }
}
