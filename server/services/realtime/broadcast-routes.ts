// Broadcasts by HTTP.
import type { ServerResponse } from 'node:http'
import { sendWhole } from '../../common/incomplete-request.ts'
import { SharedTurns } from '../../common/shared-turns.ts'
import { dto } from '../../http/service-response.ts'
import type { ServiceResponse } from '../../http/service-route.ts'
import { isUnreachable } from '../../postgres/database-error.ts'
import { readJsonBytes, mostSigns } from '../../text/json-text.ts'
import { Allowance } from './allowance.ts'
import { defineRealtimeRoute, receiveBody, type RealtimeCaller, type RealtimeRoute } from './dialect.ts'
import { Broadcast } from './frames.ts'
import { deliveryTurns } from './hub.ts'
import { realtimeErrors } from './realtime-error.ts'
import type { RealtimeParts } from './realtime-parts.ts'

/** A message of a batch. */
type Message = {
  readonly topic: string
  readonly event: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly private?: boolean | null
  readonly id?: string | null
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

const accepted: ServiceResponse = { description: 'The messages are on their way.' }
const failure = (description: string): ServiceResponse => ({ description, schema: dto('RealtimeErrorDto') })
const limited = { 429: failure('Too many messages.') }

export const broadcastRoutes: readonly RealtimeRoute[] = [
  defineRealtimeRoute<{ readonly messages: readonly Message[] }>({
    method: 'post',
    path: '/api/broadcast',
    id: 'broadcastMessages',
    summary: 'Sends messages to channels.',
    description:
      'Messages to private channels that the caller may not send to are left out, and those to topics whose members cannot be given as much as comes.',
    body: dto('RealtimeBroadcastDto'),
    responses: { 202: accepted, 422: failure('The body is not valid.'), ...limited },
    handler: async ({ caller, request, response, body: { messages } }) => {
      const { parts } = caller
      const payloads = await encodedPayloads(messages, parts.settings().realtimeMaxPayloadBytes)
      count(caller, messages.length)
      const mayWrite = await writableTopics(messages, caller, request.headers)
      const turns = deliveryTurns()
      for (const [index, { topic, event, private: isPrivate, id }] of messages.entries()) {
        if (isPrivate === true && !mayWrite.has(topic)) parts.statistics.drop('not permitted')
        else {
          const payload = payloads[index] ?? noPayload
          send(parts, isPrivate === true, { topic, event, payload, isJson: true, id: id ?? undefined })
          await turns.add(parts.hub.costOf(topic, isPrivate === true))
        }
      }
      accept(response)
    },
  }),
  defineRealtimeRoute({
    method: 'post',
    path: '/api/broadcast/{topic}/events/{event}',
    id: 'broadcastMessage',
    summary: 'Sends a message to a channel.',
    query: { private: '`true`: the channel is private.' },
    bodies: { 'application/json': {}, 'application/octet-stream': { type: 'string', format: 'binary' } },
    responses: {
      202: accepted,
      403: failure('The caller may not send to the private channel.'),
      415: failure('The body is neither JSON nor `application/octet-stream`.'),
      422: failure('The body is not valid.'),
      ...limited,
    },
    handler: async ({ caller, request, response, path: { topic = '', event = '' }, query }) => {
      const { parts } = caller
      const isJson = isJsonType(request.headers['content-type'])
      const payload = await receiveBody(request)
      if (isJson) requireJson(payload)
      if (payload.length > parts.settings().realtimeMaxPayloadBytes) throw payloadTooLarge()
      count(caller, 1)
      const isPrivate = query.get('private') === 'true'
      if (isPrivate && !(await mayWrite(topic, caller, request.headers))) throw realtimeErrors.unauthorized(403)
      const message = { topic, event, payload: payload.length === 0 && isJson ? noPayload : payload, isJson }
      if (!send(parts, isPrivate, message)) throw realtimeErrors.tooManyRequests('Too many requests')
      accept(response)
    },
  }),
]

const noPayload = Buffer.from('{}')

const payloadTooLarge = () => realtimeErrors.invalid({ payload: ['Payload size exceeds tenant limit'] })

const accept = (response: ServerResponse): void => sendWhole(response, 202, Buffer.alloc(0), {})

/** @throws RealtimeError for a type that is neither JSON nor bytes */
function isJsonType(type = ''): boolean {
  const [name = ''] = type.toLowerCase().split(';', 1)
  if (name.trim() === 'application/json') return true
  if (name.trim() === 'application/octet-stream') return false
  throw realtimeErrors.unsupportedType()
}

function requireJson(payload: Buffer): void {
  if (payload.length === 0) return
  const reading = readJsonBytes(payload, mostSigns)
  if (reading.kind === 'fault') throw realtimeErrors.invalid({ payload: [reading.fault] })
}

/** Messages that are encoded before others have their turn. */
const messagesAtOnce = 200

/** The payloads as JSON. @throws RealtimeError if one of them is too large */
async function encodedPayloads(messages: readonly Message[], limit: number): Promise<readonly Buffer[]> {
  const payloads: Buffer[] = []
  const turns = new SharedTurns(messagesAtOnce)
  for (const { payload } of messages) {
    payloads.push(Buffer.from(JSON.stringify(payload)))
    await turns.add()
  }
  const isLarge = ({ length }: Buffer): boolean => length > limit
  if (payloads.some(isLarge)) {
    const errors = payloads.map((payload) =>
      isLarge(payload) ? { payload: ['Payload size exceeds tenant limit'] } : {},
    )
    throw realtimeErrors.invalid({ messages: errors })
  }
  return payloads
}

/** What each caller may still send, by token; those that have sent nothing for longest are forgotten. */
const allowances = new Map<string, Allowance>()
const mostAllowances = 10_000

/** @throws RealtimeError for more messages than the caller may send */
function count({ credential: { token }, parts }: RealtimeCaller, messages: number): void {
  const perSecond = parts.settings().realtimeMaxEventsPerSecond
  const allowance = allowances.get(token) ?? new Allowance()
  allowances.delete(token)
  allowances.set(token, allowance)
  if (allowances.size > mostAllowances) {
    const oldest = allowances.keys().next()
    if (!oldest.done) allowances.delete(oldest.value)
  }
  if (allowance.take(messages, perSecond, performance.now())) return
  parts.statistics.drop('too many messages')
  throw realtimeErrors.tooManyRequests(
    allowance.take(1, perSecond, performance.now())
      ? 'Too many messages to broadcast, please reduce the batch size'
      : 'You have exceeded your rate limit',
  )
}

/** The private topics of messages that the caller may send to. */
async function writableTopics(
  messages: readonly Message[],
  caller: RealtimeCaller,
  headers: Headers,
): Promise<ReadonlySet<string>> {
  const topics = new Set(messages.filter((message) => message.private === true).map(({ topic }) => topic))
  const writable = new Set<string>()
  for (const topic of topics) if (await mayWrite(topic, caller, headers)) writable.add(topic)
  return writable
}

async function mayWrite(topic: string, { credential, parts }: RealtimeCaller, headers: Headers): Promise<boolean> {
  try {
    const rights = await parts.policies.decide({ identity: credential.identity, topic, headers })
    return rights.broadcast.write
  } catch (error) {
    if (isUnreachable(error)) throw error
    // A policy of this topic fails, which concerns no other.
    parts.onError(error)
    return false
  }
}

/** @returns false if the members of the topic cannot be given as much as comes */
function send({ hub, statistics }: RealtimeParts, isPrivate: boolean, parts: Broadcast['parts']): boolean {
  const isSent = hub.publish(hub.room(parts.topic, isPrivate), new Broadcast(parts))
  if (isSent) statistics.broadcasts++
  else statistics.drop('crowded topic')
  return isSent
}
