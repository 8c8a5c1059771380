// Messages of the WebSocket: objects (version 1.0.0), arrays and binary frames (version 2.0.0).
import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isJsonObject } from '../../text/json-object.ts'
import { hasSigns } from '../../text/sign-count.ts'

/** The serialiser that a client asked for with `vsn`. */
export type SerializerVersion = 1 | 2

/** A reference of a client's message, which its reply has, too. */
export type Ref = string | number | null

export type ClientMessage = {
  readonly joinRef: Ref
  readonly ref: Ref
  /** With `realtime:`. */
  readonly topic: string
  readonly event: string
  /** Undefined for a binary broadcast. */
  readonly payload: unknown
  readonly binary?: BinaryBroadcast
}

/** A broadcast as a binary frame has it. */
export type BinaryBroadcast = {
  readonly event: string
  /** Valid JSON, if it is JSON. */
  readonly payload: Buffer
  readonly isJson: boolean
}

/** A message of a client as it came. */
export type ReceivedFrame = { readonly data: Buffer; readonly isBinary: boolean }

/** Kinds of binary frames. */
const userBroadcastPush = 3
const userBroadcast = 4
/** Bytes before the texts of a kind 3 and of a kind 4. */
const pushHeader = 7
const encodingPlace = 6
const broadcastHeader = 5
/** The longest text whose length is one byte. */
const longestText = 255

/** Commas and colons of a message: more values take too long to parse, and names of objects most of all. Depth alone is harmless. */
const signs = ',::'
const mostSigns = 100_000

/** @returns undefined if the frame is broken */
export const readFrame = ({ data, isBinary }: ReceivedFrame, version: SerializerVersion): ClientMessage | undefined =>
  isBinary ? readBinary(data) : readText(data, version)

/** The same with other work of the process in between: for large frames. */
export async function readLargeFrame(
  { data, isBinary }: ReceivedFrame,
  version: SerializerVersion,
): Promise<ClientMessage | undefined> {
  const isJson = !isBinary || data[encodingPlace] !== 0
  if (isJson && hasSigns(data, signs, mostSigns)) return undefined
  await nextTurn()
  const message = isBinary ? readBinary(data, parsedCounted) : readText(data, version, parsedCounted)
  await nextTurn()
  return message
}

/**
 * Reads a text message, whose bytes are valid UTF-8.
 *
 * @returns undefined if it is broken
 */
export function readText(bytes: Buffer, version: SerializerVersion, parse = parsed): ClientMessage | undefined {
  const value = parse(bytes)
  if (typeof value !== 'object' || value === null) return undefined
  if (version === 2) {
    if (!Array.isArray(value) || value.length < 5) return undefined
    const [joinRef, ref, topic, event, payload] = value as unknown[]
    return messageOf(joinRef, ref, topic, event, payload)
  }
  if (Array.isArray(value)) return undefined
  const { topic, event, payload, ref, join_ref: joinRef } = value as Readonly<Record<string, unknown>>
  return messageOf(joinRef, ref, topic, event, payload)
}

function messageOf(
  joinRef: unknown,
  ref: unknown,
  topic: unknown,
  event: unknown,
  payload: unknown,
): ClientMessage | undefined {
  if (typeof topic !== 'string' || typeof event !== 'string') return undefined
  return { joinRef: refOf(joinRef), ref: refOf(ref), topic, event, payload }
}

const refOf = (value: unknown): Ref => (typeof value === 'string' || typeof value === 'number' ? value : null)

/** The value of JSON; undefined if it is not valid, or would take too long. */
function parsed(json: Buffer): unknown {
  return hasSigns(json, signs, mostSigns) ? undefined : parsedCounted(json)
}

/** The same of JSON whose signs were counted. */
function parsedCounted(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString()) as unknown
  } catch {
    return undefined
  }
}

/** An object as JSON; undefined if the value is no object, or too deep. */
export const objectJson = (value: unknown): string | undefined => (isJsonObject(value) ? valueJson(value) : undefined)

/** A value of a message as JSON; undefined for null, or if it is too deep. */
export function valueJson(value: unknown): string | undefined {
  if (value === null) return undefined
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** @returns undefined if the frame is broken, or of another kind */
export function readBinary(bytes: Buffer, parse = parsed): ClientMessage | undefined {
  const [kind, joinRefLength = 0, refLength = 0, topicLength = 0, eventLength = 0, metaLength = 0, encoding] = bytes
  if (kind !== userBroadcastPush || encoding === undefined) return undefined
  let at = pushHeader
  const textsEnd = at + joinRefLength + refLength + topicLength + eventLength
  const payloadStart = textsEnd + metaLength
  if (payloadStart > bytes.length || !isUtf8(bytes.subarray(at, textsEnd))) return undefined
  const text = (length: number): string => bytes.toString('utf8', at, (at += length))
  const joinRef = text(joinRefLength) || null
  const ref = text(refLength) || null
  const topic = text(topicLength)
  const event = text(eventLength)
  const payload = bytes.subarray(payloadStart)
  const isJson = encoding !== 0
  // Receivers of version 1.0.0 get the bytes within a text, so they must be JSON.
  if (isJson && (!isUtf8(payload) || parse(payload) === undefined)) return undefined
  return { joinRef, ref, topic, event: 'broadcast', payload: undefined, binary: { event, payload, isJson } }
}

/** Opcodes of RFC 6455, section 5.2. */
const textFrame = 0x1
const binaryFrame = 0x2
const final = 0x80

/** A frame of the WebSocket, as it is sent to any number of clients. https://www.rfc-editor.org/rfc/rfc6455#section-5 */
function frameOf(opcode: number, parts: readonly (string | Buffer)[]): Buffer {
  let length = 0
  for (const part of parts) length += Buffer.byteLength(part)
  const header = length < 126 ? 2 : length < 65_536 ? 4 : 10
  // Not from the pool: a frame may wait long for a slow client.
  const frame = Buffer.allocUnsafeSlow(header + length)
  frame[0] = final | opcode
  if (length < 126) frame[1] = length
  else if (length < 65_536) {
    frame[1] = 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 127
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
  let at = header
  for (const part of parts) {
    if (typeof part === 'string') at += frame.write(part, at)
    else at += part.copy(frame, at)
  }
  return frame
}

/** A message of the server. `payload` is JSON, whole or in parts. */
export function messageFrame(
  version: SerializerVersion,
  joinRef: Ref,
  ref: Ref,
  topic: string,
  event: string,
  ...payload: readonly (string | Buffer)[]
): Buffer {
  const name = JSON.stringify(event)
  return version === 2
    ? frameOf(textFrame, [
        `[${JSON.stringify(joinRef)},${JSON.stringify(ref)},${JSON.stringify(topic)},${name},`,
        ...payload,
        ']',
      ])
    : frameOf(textFrame, [
        `{"ref":${JSON.stringify(ref)},"topic":${JSON.stringify(topic)},"event":${name},"payload":`,
        ...payload,
        '}',
      ])
}

/** What is sent to members of a topic: encoded once for each version, at the first receiver that needs it. */
export type Delivery = {
  readonly kind: 'broadcast' | 'presence'
  /** Id of a stored message. */
  readonly id?: string | undefined
  /** Undefined: the version cannot have it. */
  readonly frame: (version: SerializerVersion) => Buffer | undefined
}

export type BroadcastParts = BinaryBroadcast & {
  /** Without `realtime:`. */
  readonly topic: string
  /** Id of a stored message. */
  readonly id?: string | undefined
  /** Whether a stored message is sent again. */
  readonly isReplayed?: boolean
}

/** A broadcast, which clients of version 2.0.0 get as a binary frame. */
export class Broadcast implements Delivery {
  readonly kind = 'broadcast'
  readonly parts: BroadcastParts
  #text: Buffer | undefined
  #binary: Buffer | undefined

  constructor(parts: BroadcastParts) {
    this.parts = parts
  }

  get id(): string | undefined {
    return this.parts.id
  }

  frame(version: SerializerVersion): Buffer | undefined {
    if (version === 2) {
      this.#binary ??= this.#binaryFrame()
      if (this.#binary) return this.#binary
    }
    if (!this.parts.isJson) return undefined
    return version === 1 ? (this.#text ??= this.#textFrame(1)) : this.#textFrame(2)
  }

  get #meta(): string {
    const { id, isReplayed = false } = this.parts
    if (id === undefined) return ''
    return JSON.stringify(isReplayed ? { id, replayed: true } : { id })
  }

  #textFrame(version: SerializerVersion): Buffer {
    const { topic, event, payload } = this.parts
    const meta = this.#meta
    return messageFrame(
      version,
      null,
      null,
      `realtime:${topic}`,
      'broadcast',
      `{"type":"broadcast","event":${JSON.stringify(event)},"payload":`,
      payload,
      meta === '' ? '}' : `,"meta":${meta}}`,
    )
  }

  /** Undefined if topic, event or id are too long for a binary frame. */
  #binaryFrame(): Buffer | undefined {
    const { event, payload, isJson } = this.parts
    const topic = `realtime:${this.parts.topic}`
    const meta = this.#meta
    const lengths = [topic, event, meta].map((text) => Buffer.byteLength(text))
    if (lengths.some((length) => length > longestText)) return undefined
    const header = Buffer.alloc(broadcastHeader)
    header.set([userBroadcast, ...lengths, isJson ? 1 : 0])
    return frameOf(binaryFrame, [header, topic, event, meta, payload])
  }
}

/** An event with a JSON payload, which all clients get as text. */
export class TextEvent implements Delivery {
  readonly kind: 'broadcast' | 'presence'
  readonly event: string
  /** JSON. */
  readonly payload: string
  readonly #topic: string
  readonly #frames: [Buffer | undefined, Buffer | undefined] = [undefined, undefined]

  /** @param topic without `realtime:` */
  constructor(kind: TextEvent['kind'], topic: string, event: string, payload: string) {
    this.kind = kind
    this.#topic = `realtime:${topic}`
    this.event = event
    this.payload = payload
  }

  frame(version: SerializerVersion): Buffer {
    const known = this.#frames[version - 1]
    if (known) return known
    const frame = messageFrame(version, null, null, this.#topic, this.event, this.payload)
    this.#frames[version - 1] = frame
    return frame
  }
}
