// Messages between the processes of a server, as payloads of NOTIFY. Every role of the database may notify and listen, so they are
// sealed with a secret that only servers may read.
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { formatLsn, parseLsn } from '../../common/wal-position.ts'
import { Broadcast, TextEvent, type Delivery } from './frames.ts'
import type { PresenceEntry } from './presence.ts'

/** What a process tells the others. */
export type RelayMessage =
  /** The process listens, and wants to know who is present. */
  | { readonly kind: 'hello' }
  | { readonly kind: 'bye' }
  | { readonly kind: 'send'; readonly topic: string; readonly isPrivate: boolean; readonly delivery: Delivery }
  | PresenceMessage
  /** Whether clients of the process listen to changes of rows. */
  | { readonly kind: 'subscribers'; readonly hasSubscribers: boolean }
  /** The process reads the log from a place on. */
  | { readonly kind: 'reading'; readonly from: bigint }
  /** The response of those that have read it before: the last change before that place. */
  | { readonly kind: 'newest'; readonly position: string; readonly before: bigint }

export type PresenceMessage = {
  readonly kind: 'presence'
  readonly topic: string
  readonly isPrivate: boolean
  /** Number of the channel in its process. */
  readonly owner: number
  /** Undefined: no longer. */
  readonly entry: PresenceEntry | undefined
}

const cipher = 'aes-256-gcm'
const tagLength = 16
/** Bytes of a part of a message. The limit of a payload is 8000: a part is in base64, with its tag and some words before it. */
const partSize = 5700

/** Each process has its own key, so that the numbers of its parts are used once. */
const keyOf = (secret: Buffer, sender: string): Buffer => createHmac('sha256', secret).update(sender).digest()

function nonceOf(number: number, index: number): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(number, 0, 6)
  nonce.writeUIntBE(index, 6, 6)
  return nonce
}

/** The bytes of a message, for `payloadsOf`. */
export const bytesOf = (message: RelayMessage): Buffer => Buffer.from(JSON.stringify(fieldsOf(message)))

/** The payloads of a message. @param number of the message in its process: greater than that of the message before */
export function* payloadsOf(secret: Buffer, sender: string, number: number, bytes: Buffer): Generator<string, void> {
  const key = keyOf(secret, sender)
  const count = Math.ceil(bytes.length / partSize)
  for (let index = 0; index < count; index++) {
    const words = `${sender} ${number} ${index} ${count}`
    const sealing = createCipheriv(cipher, key, nonceOf(number, index)).setAAD(Buffer.from(words))
    const part = sealing.update(bytes.subarray(index * partSize, (index + 1) * partSize))
    yield `${words} ${Buffer.concat([part, sealing.final(), sealing.getAuthTag()]).toString('base64')}`
  }
}

type Fields = {
  readonly k: RelayMessage['kind']
  readonly t?: string
  readonly p?: boolean
  /** Event of a message. */
  readonly e?: string
  /** JSON of a broadcast, bytes of one in base64, payload of another event. */
  readonly j?: string
  readonly b?: string
  readonly x?: string
  readonly o?: number
  readonly entry?: PresenceEntry | null
  /** Whether there are subscribers. */
  readonly s?: boolean
  /** Place in the log, and position of a change. */
  readonly l?: string
  readonly c?: string
}

function fieldsOf(message: RelayMessage): Fields {
  if (message.kind === 'hello' || message.kind === 'bye') return { k: message.kind }
  if (message.kind === 'subscribers') return { k: message.kind, s: message.hasSubscribers }
  if (message.kind === 'reading') return { k: message.kind, l: formatLsn(message.from) }
  if (message.kind === 'newest') return { k: message.kind, l: formatLsn(message.before), c: message.position }
  const { kind: k, topic: t, isPrivate: p } = message
  if (message.kind === 'presence') return { k, t, p, o: message.owner, entry: message.entry ?? null }
  const { delivery } = message
  if (delivery instanceof Broadcast) {
    const { event: e, payload, isJson } = delivery.parts
    return isJson ? { k, t, p, e, j: payload.toString() } : { k, t, p, e, b: payload.toString('base64') }
  }
  if (delivery instanceof TextEvent) return { k, t, p, e: delivery.event, x: delivery.payload }
  throw new TypeError('unknown kind of message')
}

function messageOf({
  k,
  t = '',
  p = false,
  e = '',
  j,
  b,
  x,
  o = 0,
  entry,
  s = false,
  l = '',
  c = '',
}: Fields): RelayMessage | undefined {
  switch (k) {
    case 'hello':
    case 'bye':
      return { kind: k }
    case 'subscribers':
      return { kind: k, hasSubscribers: s }
    case 'reading':
      return { kind: k, from: parseLsn(l) ?? 0n }
    case 'newest':
      return { kind: k, before: parseLsn(l) ?? 0n, position: c }
    case 'presence':
      return { kind: k, topic: t, isPrivate: p, owner: o, entry: entry ?? undefined }
    case 'send': {
      const delivery =
        x === undefined
          ? new Broadcast({
              topic: t,
              event: e,
              payload: Buffer.from(j ?? b ?? '', j === undefined ? 'base64' : 'utf8'),
              isJson: j !== undefined,
            })
          : new TextEvent('broadcast', t, e, x)
      return { kind: k, topic: t, isPrivate: p, delivery }
    }
    default:
      // A newer version of the program.
      return undefined
  }
}

const header = /^([\w-]{1,40}) (\d{1,14}) (\d{1,9}) (\d{1,9}) /

type Sender = {
  readonly key: Buffer
  /** The last message, whether all of it was read, and its parts if not. */
  number: number
  isComplete: boolean
  parts: Buffer[]
}

/** Opens the parts of messages, and puts them together. The parts of one sender arrive in their order. */
export class RelayReader {
  /** Those that have sent something. They are kept, so that their messages cannot be sent again. */
  readonly #senders = new Map<string, Sender>()
  #secret: Buffer

  constructor(secret: Buffer) {
    this.#secret = secret
  }

  /** @param secret another one, as after a restore of the database */
  use(secret: Buffer): void {
    if (this.#secret.equals(secret)) return
    this.#secret = secret
    this.#senders.clear()
  }

  /** @returns the sender, and its message if this was the last part; undefined for a payload that no server has sealed */
  read(payload: string): { readonly sender: string; readonly message: RelayMessage | undefined } | undefined {
    const [all = '', name = '', ...numbers] = header.exec(payload) ?? []
    if (name === '') return undefined
    const [number = 0, index = 0, count = 0] = numbers.map(Number)
    const sender = this.#senders.get(name) ?? {
      key: keyOf(this.#secret, name),
      number: -1,
      isComplete: true,
      parts: [],
    }
    const part = opened(sender.key, nonceOf(number, index), all.slice(0, -1), payload.slice(all.length))
    if (!part) return undefined
    this.#senders.set(name, sender)
    if (index === 0 && number > sender.number) Object.assign(sender, { number, isComplete: false, parts: [] })
    // The beginning was missed, or it is a repetition.
    if (sender.number !== number || sender.isComplete || sender.parts.length !== index)
      return { sender: name, message: undefined }
    sender.parts.push(part)
    if (sender.parts.length < count) return { sender: name, message: undefined }
    const bytes = Buffer.concat(sender.parts)
    sender.parts = []
    sender.isComplete = true
    return { sender: name, message: messageIn(bytes) }
  }

  /** The process has ended. */
  forget(name: string): void {
    const sender = this.#senders.get(name)
    if (sender) sender.parts = []
  }
}

function messageIn(bytes: Buffer): RelayMessage | undefined {
  try {
    return messageOf(JSON.parse(bytes.toString()) as Fields)
  } catch {
    return undefined
  }
}

/** Undefined if the part was not sealed with the key. */
function opened(key: Buffer, nonce: Buffer, words: string, text: string): Buffer | undefined {
  const sealed = Buffer.from(text, 'base64')
  if (sealed.length < tagLength) return undefined
  try {
    const opening = createDecipheriv(cipher, key, nonce, { authTagLength: tagLength })
      .setAAD(Buffer.from(words))
      .setAuthTag(sealed.subarray(-tagLength))
    return Buffer.concat([opening.update(sealed.subarray(0, -tagLength)), opening.final()])
  } catch {
    return undefined
  }
}
