// Messages between the processes of a server, as payloads of NOTIFY.
import { Broadcast, TextEvent, type Delivery } from './frames.ts'
import type { PresenceEntry } from './presence.ts'

/** What a process tells the others. */
export type RelayMessage =
  /** The process listens, and wants to know who is present. */
  | { readonly kind: 'hello' }
  | { readonly kind: 'bye' }
  | { readonly kind: 'send'; readonly topic: string; readonly isPrivate: boolean; readonly delivery: Delivery }
  | {
      readonly kind: 'presence'
      readonly topic: string
      readonly isPrivate: boolean
      /** Number of the channel in its process. */
      readonly owner: number
      /** Undefined: no longer. */
      readonly entry: PresenceEntry | undefined
    }

/** Bytes of a part of a message. The limit of a payload is 8000, and a part has some words before it. */
const partSize = 7800

/** The payloads of a message. @param number of the message in its process */
export function payloadsOf(sender: string, number: number, message: RelayMessage): readonly string[] {
  const bytes = Buffer.from(JSON.stringify(fieldsOf(message)))
  const parts: string[] = []
  for (let at = 0; at < bytes.length;) {
    let end = Math.min(bytes.length, at + partSize)
    // Not within a character: bytes that continue one begin with 10.
    while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
    parts.push(bytes.toString('utf8', at, end))
    at = end
  }
  return parts.map((part, index) => `${sender} ${number} ${index} ${parts.length} ${part}`)
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
}

function fieldsOf(message: RelayMessage): Fields {
  if (message.kind === 'hello' || message.kind === 'bye') return { k: message.kind }
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

function messageOf({ k, t = '', p = false, e = '', j, b, x, o = 0, entry }: Fields): RelayMessage | undefined {
  switch (k) {
    case 'hello':
    case 'bye':
      return { kind: k }
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

const header = /^([\w-]+) (\d+) (\d+) (\d+) /

/** Puts the parts of messages together. The parts of one sender arrive in their order. */
export class RelayReader {
  readonly #incomplete = new Map<string, { readonly number: string; readonly parts: string[] }>()

  /** @returns the sender, and its message if this was the last part; undefined for another payload */
  read(payload: string): { readonly sender: string; readonly message: RelayMessage | undefined } | undefined {
    const [all = '', sender = '', number = '', index = '', count = ''] = header.exec(payload) ?? []
    if (sender === '') return undefined
    let known = this.#incomplete.get(sender)
    if (index === '0') this.#incomplete.set(sender, (known = { number, parts: [] }))
    // The beginning was missed.
    if (known?.number !== number || known.parts.length !== Number(index)) return { sender, message: undefined }
    known.parts.push(payload.slice(all.length))
    if (known.parts.length < Number(count)) return { sender, message: undefined }
    this.#incomplete.delete(sender)
    try {
      return { sender, message: messageOf(JSON.parse(known.parts.join('')) as Fields) }
    } catch {
      return { sender, message: undefined }
    }
  }

  forget(sender: string): void {
    this.#incomplete.delete(sender)
  }
}
