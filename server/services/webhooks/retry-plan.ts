// What follows an attempt: whether a call is delivered, sent again, or put aside.
import { STATUS_CODES } from 'node:http'
import type { OutgoingError } from '../outgoing/outgoing-error.ts'
import type { OutgoingResponse } from '../outgoing/outgoing-request.ts'
import type { ClaimedCall, Outcome } from './claimed-call.ts'
import type { WebhooksSettings } from './settings.ts'

/** Milliseconds of the first pause. Each further one is `growth` times as long. */
const firstPause = 5000
const growth = 3
/** Pauses differ by a quarter, so that calls that failed together are not sent again together. */
const jitter = 0.25

type Limits = Pick<WebhooksSettings, 'webhooksMaxAttempts' | 'webhooksMaxPause'>
type Verdict = Pick<Outcome, 'state' | 'pause_ms' | 'error'>

/**
 * What follows a response, as Standard Webhooks recommends: 2xx is a delivery, 410 asks for no more, and all others are failures.
 * A call that is sent once is delivered with any response.
 */
export function afterResponse(
  call: Pick<ClaimedCall, 'attempt' | 'retries'>,
  { status, headers }: Pick<OutgoingResponse, 'status' | 'headers'>,
  limits: Limits,
  now: number = Date.now(),
): Verdict {
  if (!call.retries || (status >= 200 && status < 300)) return { state: 'delivered' }
  const error = `the receiver responded with ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd()
  if (status === 410) return { state: 'dead', error }
  return afterFailure(call, error, limits, retryAfter(headers['retry-after'], now))
}

/** What follows an attempt without a response. */
export const afterError = (
  call: Pick<ClaimedCall, 'attempt' | 'retries'>,
  { message, isFinal }: Pick<OutgoingError, 'message' | 'isFinal'>,
  limits: Limits,
): Verdict =>
  isFinal || !call.retries ? { state: 'dead', error: message } : afterFailure(call, message, limits, undefined)

function afterFailure(
  { attempt }: Pick<ClaimedCall, 'attempt'>,
  error: string,
  { webhooksMaxAttempts, webhooksMaxPause }: Limits,
  atLeast = 0,
): Verdict {
  if (attempt >= webhooksMaxAttempts) return { state: 'dead', error: `${error}; attempt ${attempt} was the last one` }
  const pause = firstPause * growth ** Math.min(attempt - 1, 20)
  const longest = webhooksMaxPause * 1000
  const varied = Math.min(pause, longest) * (1 - jitter + 2 * jitter * Math.random())
  return { state: 'waiting', error, pause_ms: Math.round(Math.min(Math.max(varied, atLeast), longest)) }
}

/** Milliseconds of a header: seconds, or a date. https://www.rfc-editor.org/rfc/rfc9110#name-retry-after */
function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const milliseconds = /^\d{1,10}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isFinite(milliseconds) ? milliseconds : undefined
}
