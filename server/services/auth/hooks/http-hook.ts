// Hooks as HTTP endpoints: signed POST requests, retried when the endpoint cannot be reached.
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { limitedBytes } from '../../limited-bytes.ts'
import { webhookHeaders } from '../../outgoing/webhook-signature.ts'
import { tracedFetch } from '../../traced-fetch.ts'
import { AuthError } from '../auth-error.ts'
import { readHookResponse, type HookResponse } from './hook-response.ts'
import type { HttpHookTarget } from './hook-target.ts'

/** Limits of a call, as in GoTrue. Times are in milliseconds. */
export type HttpHookLimits = {
  /** Of all attempts together. */
  readonly timeout: number
  readonly attempts: number
  /** Between two attempts. */
  readonly backoff: number
  /** Bytes of a response. */
  readonly responseSize: number
}

export const httpHookLimits: HttpHookLimits = {
  timeout: 5000,
  attempts: 3,
  backoff: 2000,
  responseSize: 200 * 1024,
}

/**
 * Calls a hook and returns its response.
 *
 * @param payload JSON text
 * @throws AuthError the error of the hook; 422 `hook_timeout`, `hook_timeout_after_retry` or
 *   `hook_payload_over_size_limit`; 400 `hook_payload_invalid_content_type`; 500 for other failures
 */
export async function callHttpHook(
  target: HttpHookTarget,
  payload: string,
  limits: HttpHookLimits = httpHookLimits,
): Promise<HookResponse> {
  const signal = AbortSignal.timeout(limits.timeout)
  try {
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === limits.attempts
      const outcome = await attemptCall(target, payload, signal, limits.responseSize)
      if (outcome.kind === 'response') return outcome.value
      if (isLast) {
        throw outcome.kind === 'unreachable'
          ? new AuthError(422, 'hook_timeout_after_retry', 'Failed to reach hook after maximum retries', {
              cause: outcome.cause,
            })
          : serviceUnavailable()
      }
      await pause(Math.min(limits.backoff, outcome.kind === 'busy' ? outcome.wait : Infinity), undefined, { signal })
    }
  } catch (error) {
    if (!signal.aborted || error instanceof AuthError) throw error
    throw timedOut(limits.timeout)
  }
}

/** The error of a hook that takes too long. */
export const timedOut = (timeout: number): AuthError =>
  new AuthError(
    422,
    'hook_timeout',
    `Failed to reach hook within maximum time of ${(timeout / 1000).toFixed(6)} seconds`,
  )

const serviceUnavailable = (): AuthError =>
  new AuthError(500, 'unexpected_failure', 'Service currently unavailable due to hook')

type Outcome =
  | { readonly kind: 'response'; readonly value: HookResponse }
  | { readonly kind: 'unreachable'; readonly cause: unknown }
  /** The endpoint asks to be called again, after this many milliseconds. */
  | { readonly kind: 'busy'; readonly wait: number }

async function attemptCall(
  { url, keys }: HttpHookTarget,
  body: string,
  signal: AbortSignal,
  responseSize: number,
): Promise<Outcome> {
  let response: Response
  try {
    response = await tracedFetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'Accept-Encoding': 'identity',
        ...webhookHeaders({ id: randomUUID(), timestamp: Math.floor(Date.now() / 1000), body }, keys),
      },
      body,
      // The payload may contain secrets, which must not be sent anywhere else.
      redirect: 'manual',
      signal,
    })
  } catch (cause) {
    signal.throwIfAborted()
    return { kind: 'unreachable', cause }
  }
  try {
    return await outcomeOf(response, responseSize)
  } finally {
    if (!response.bodyUsed) await response.body?.cancel()
  }
}

async function outcomeOf(response: Response, responseSize: number): Promise<Outcome> {
  const { status, headers } = response
  switch (status) {
    case 204:
      return { kind: 'response', value: readHookResponse('') }
    case 200:
    case 202:
      requireJson(headers.get('content-type') ?? '')
      return { kind: 'response', value: readHookResponse(await readText(response, responseSize)) }
    case 429:
    case 503: {
      const retryAfter = headers.get('retry-after') ?? ''
      if (retryAfter === '') throw serviceUnavailable()
      const seconds = Number(retryAfter)
      return { kind: 'busy', wait: Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : Infinity }
    }
    case 400:
      throw new AuthError(500, 'unexpected_failure', 'Invalid payload sent to hook')
    case 401:
      throw new AuthError(500, 'unexpected_failure', 'Hook requires authorization token')
    default:
      throw new AuthError(500, 'unexpected_failure', `Unexpected status code returned from hook: ${status}`)
  }
}

function requireJson(contentType: string): void {
  const code = 'hook_payload_invalid_content_type'
  if (contentType === '') throw new AuthError(400, code, 'Invalid Content-Type: Missing Content-Type header')
  const [type = ''] = contentType.split(';', 1)
  if (type.trim().toLowerCase() !== 'application/json') {
    throw new AuthError(400, code, `Invalid JSON response. Received content-type: ${contentType}`)
  }
}

async function readText(response: Response, limit: number): Promise<string> {
  // The type of fetch's body does not say that it can be iterated.
  const body = (response.body ?? []) as AsyncIterable<Uint8Array>
  const message = `Payload size exceeded size limit of ${limit} bytes`
  const tooMany = (): AuthError => new AuthError(422, 'hook_payload_over_size_limit', message)
  return (await limitedBytes(body, limit, tooMany)).toString()
}
