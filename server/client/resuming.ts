// Lets channels of supabase-js go on where they were after a lost connection: their joins name the last row change that they saw.

/** The parts of a WebSocket that are used here: those of browsers, of Node 22, and of the package `ws`. */
export type SocketConstructor = new (
  address: string | URL,
  protocols?: string | string[],
) => {
  send(data: never): void
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void
}

/**
 * A WebSocket for the option `realtime.transport` of supabase-js. After a lost connection, a channel first gets the row changes that
 * it missed, in order and each once. When the server no longer has them, the channel gets a `system` message with the code `Gap`
 * instead: read the rows again then.
 *
 * @param base the WebSocket to build upon. Node has one since version 22; for earlier versions pass that of the package `ws`
 * @example
 * const supabase = createClient(url, key, { realtime: { transport: resumingTransport(WebSocket) } })
 * supabase.channel('todos')
 *   .on('postgres_changes', { event: '*', schema: 'public', table: 'todos' }, apply)
 *   .on('system', {}, ({ code }) => code === 'Gap' && reload())
 *   .subscribe()
 */
export function resumingTransport<Base extends SocketConstructor>(base: Base): Base {
  const positions = new Positions()
  const Socket: SocketConstructor = base
  class ResumingSocket extends Socket {
    constructor(address: string | URL, protocols?: string | string[]) {
      super(address, protocols)
      this.addEventListener('message', ({ data }) => positions.received(data))
    }

    override send(data: never): void {
      super.send(positions.sending(data) as never)
    }
  }
  return ResumingSocket as unknown as Base
}

type Message = { readonly topic: string; readonly event: string; readonly payload: Record<string, unknown> }

/** The last position of each channel. */
class Positions {
  readonly #byTopic = new Map<string, string>()

  received(data: unknown): void {
    if (typeof data !== 'string' || !data.includes('"position"')) return
    const { topic, event, payload } = messageOf(JSON.parse(data) as unknown)
    const of = event === 'postgres_changes' ? payload.data : event === 'system' ? payload : undefined
    const position = isObject(of) ? of.position : undefined
    if (typeof position === 'string') this.#byTopic.set(topic, position)
  }

  /** The data as they are to be sent. */
  sending(data: unknown): unknown {
    if (typeof data !== 'string') return data
    if (data.includes('"phx_leave"')) {
      const { topic, event } = messageOf(JSON.parse(data) as unknown)
      if (event === 'phx_leave') this.#byTopic.delete(topic)
      return data
    }
    if (!data.includes('"phx_join"')) return data
    const frame = JSON.parse(data) as unknown
    const { topic, event, payload } = messageOf(frame)
    const since = this.#byTopic.get(topic)
    if (event !== 'phx_join' || since === undefined || !isObject(payload.config)) return data
    const { postgres_changes_options: options } = payload.config
    payload.config.postgres_changes_options = { ...(isObject(options) ? options : {}), since }
    return JSON.stringify(frame)
  }
}

/** A message in either form: `[join_ref, ref, topic, event, payload]`, or an object. */
function messageOf(frame: unknown): Message {
  const [topic, event, payload]: readonly unknown[] = Array.isArray(frame)
    ? (frame as readonly unknown[]).slice(2)
    : isObject(frame)
      ? [frame.topic, frame.event, frame.payload]
      : []
  return { topic: String(topic), event: String(event), payload: isObject(payload) ? payload : {} }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
