// One attempt to deliver a call.
import { version } from '../../common/version.ts'
import type { OutgoingConnections } from '../outgoing/connections.ts'
import { OutgoingError } from '../outgoing/outgoing-error.ts'
import { sendRequest, type OutgoingProgress, type OutgoingResponse } from '../outgoing/outgoing-request.ts'
import { webhookHeaders, webhookKey } from '../outgoing/webhook-signature.ts'
import type { ClaimedCall, Outcome } from './claimed-call.ts'
import { netError } from './net-error.ts'
import { afterError, afterResponse } from './retry-plan.ts'
import type { WebhooksSettings } from './settings.ts'

/** Bytes that are kept of responses to calls that are sent again after errors: of others, SQL reads the response. */
const keptOfWebhooks = 4096

export type AttemptOptions = {
  readonly connections: OutgoingConnections
  readonly settings: WebhooksSettings
  /** Ends the attempt. A call that it ends is sent again at once, by the next process. */
  readonly signal: AbortSignal
}

/** Sends a call, and returns what became of it. Never rejects. */
export async function attemptCall(call: ClaimedCall, options: AttemptOptions): Promise<Outcome> {
  const since = performance.now()
  const outcome = await withinTime(call, options)
  return { id: call.id, attempt: call.attempt, duration_ms: Math.round(performance.now() - since), ...outcome }
}

type Result = Omit<Outcome, 'id' | 'attempt' | 'duration_ms'>

async function withinTime(call: ClaimedCall, { connections, settings, signal }: AttemptOptions): Promise<Result> {
  const keys = call.secrets.flatMap((secret) => webhookKey(secret) ?? [])
  if (call.secretName !== null && keys.length === 0) {
    const message = `the secret ${JSON.stringify(call.secretName)} does not exist or has expired`
    return afterError(call, { message, isFinal: false }, settings)
  }
  const timeout = Math.min(call.timeout, settings.webhooksMaxTimeout)
  const since = performance.now()
  const progress: OutgoingProgress = {}
  const controller = new AbortController()
  const stop = (): void => controller.abort(signal.reason)
  // The message begins as that of pg_net.
  const late = new OutgoingError(`Timeout of ${timeout} ms reached`, { isTimeout: true })
  const timer = setTimeout(() => controller.abort(late), timeout)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    const request = {
      ...call,
      headers: { ...ownHeaders(call), ...identifyingHeaders(call, keys) },
      keptBytes: call.retries
        ? Math.min(keptOfWebhooks, settings.webhooksMaxResponseBytes)
        : settings.webhooksMaxResponseBytes,
      progress,
    }
    return ofResponse(call, await sendRequest(connections, request, controller.signal), settings)
  } catch (error) {
    if (signal.aborted) return { state: 'waiting', pause_ms: 0, error: messageOf(signal.reason) }
    const failure = error instanceof OutgoingError ? error : new OutgoingError(messageOf(error), { cause: error })
    return {
      ...afterError(call, failure, settings),
      timed_out: failure.isTimeout,
      net_error: netError(failure, { since, ...progress, now: performance.now() }),
      ...(failure.status === undefined ? {} : { status: failure.status }),
    }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

function ofResponse(call: ClaimedCall, response: OutgoingResponse, settings: WebhooksSettings): Result {
  const { status, headers, rawHeaders, body } = response
  const contentType = headers['content-type']
  // Of a call that is sent once, the response is the result: a part of it is none.
  if (!call.retries && body.fault !== null) return { state: 'dead', error: body.fault }
  return {
    ...afterResponse(call, response, settings),
    status,
    headers: receivedHeaders(rawHeaders),
    ...(contentType === undefined ? {} : { content_type: contentType }),
    ...(body.text === null ? {} : { response: body.text }),
  }
}

/** The headers of a response, with their names as received, as pg_net has them. */
function receivedHeaders(raw: readonly string[]): Record<string, string> {
  const received = new Map<string, [name: string, value: string]>()
  for (let index = 0; index < raw.length; index += 2) {
    const [name = '', value = ''] = raw.slice(index, index + 2)
    const lower = name.toLowerCase()
    const before = received.get(lower)
    received.set(lower, before ? [before[0], `${before[1]}, ${value}`] : [name, value])
  }
  return Object.fromEntries(received.values())
}

/** The headers that the owner of the call has chosen, with their names as written. */
function ownHeaders({ headers }: ClaimedCall): Record<string, string> {
  const agent = ['user-agent', `rowhouse-webhooks/${version}`] as const
  const own = new Map<string, readonly [name: string, value: string]>([['user-agent', agent]])
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    if (value !== null && !lower.startsWith('webhook-'))
      own.set(lower, [name, typeof value === 'string' ? value : JSON.stringify(value)])
  }
  return Object.fromEntries(own.values())
}

/** The headers that identify the call, and sign it if it has a secret. */
function identifyingHeaders(
  { id, attempt, depth, position, body }: ClaimedCall,
  keys: readonly Buffer[],
): Record<string, string> {
  const message = { id: `msg_${id}`, timestamp: Math.floor(Date.now() / 1000), body: body ?? '' }
  const { 'webhook-signature': signature, ...identity } = webhookHeaders(message, keys)
  return {
    ...identity,
    ...(keys.length > 0 ? { 'webhook-signature': signature } : {}),
    'webhook-attempt': String(attempt),
    'webhook-depth': String(depth),
    ...(position === null ? {} : { 'webhook-position': position }),
  }
}

const messageOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason))
