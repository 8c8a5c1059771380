// The thread that runs pg_dump, which is compiled to WebAssembly and calls functions for its connection that must not
// return before the server has answered. The thread sleeps meanwhile; the main thread talks to the server.
import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'

export type PgDumpTask = {
  /** Arguments of pg_dump. */
  readonly args: readonly string[]
  /** What the server reports at the start of a connection, such as `server_version`. */
  readonly parameters: readonly (readonly [name: string, value: string])[]
  /** One 32-bit integer, which the main thread sets to 1 when an answer was posted. */
  readonly answered: SharedArrayBuffer
}

export type PgDumpMessage =
  /** Complete messages for the server, the last of which it answers with ReadyForQuery. */
  | { readonly kind: 'request'; readonly bytes: Uint8Array }
  | { readonly kind: 'done'; readonly text: string }
  | { readonly kind: 'failed'; readonly message: string }

/** The part of PGlite's interface that the package uses: it was written for a database in the same thread. */
type PgliteLike = {
  readonly query: (text: string) => Promise<{ readonly rows: readonly { readonly search_path: string }[] }>
  readonly exec: (text: string) => Promise<unknown>
  readonly execProtocolRawStream: (
    bytes: Uint8Array,
    options: { readonly onRawData: (bytes: Uint8Array) => void },
  ) => void
}

type PgDump = (options: { readonly pg: PgliteLike; readonly args: string[] }) => Promise<File>

const port = parentPort
if (!port) throw new Error('this file runs in a worker thread')
const { args, parameters, answered } = workerData as PgDumpTask
const flag = new Int32Array(answered)
const post = (message: PgDumpMessage): void => port.postMessage(message)

/** SSLRequest and GSSENCRequest, which are answered with `N`. */
const encryptionRequests: readonly number[] = [80877103, 80877104]

/** Frames what pg_dump writes, and answers the messages that are not for the server. */
class Frontend {
  readonly #channel: MessagePort
  #pending = Buffer.alloc(0)
  #hasStarted = false

  constructor(channel: MessagePort) {
    this.#channel = channel
  }

  /** @returns the bytes that pg_dump can read now */
  write(bytes: Uint8Array): Uint8Array {
    this.#pending = Buffer.concat([this.#pending, bytes])
    const answers: Uint8Array[] = []
    const forServer: Buffer[] = []
    for (;;) {
      const message = this.#take()
      if (!message) break
      if (!this.#hasStarted) answers.push(this.#startUp(message))
      // Terminate (X) would end the connection, which is the main thread's.
      else if (message[0] !== 0x58) forServer.push(message)
    }
    if (forServer.length > 0) answers.push(askServer(this.#channel, Buffer.concat(forServer)))
    return Buffer.concat(answers)
  }

  /** Removes a complete message. Those at the start of a connection have no type. */
  #take(): Buffer | undefined {
    const typeLength = this.#hasStarted ? 1 : 0
    if (this.#pending.length < typeLength + 4) return undefined
    const length = typeLength + this.#pending.readInt32BE(typeLength)
    if (this.#pending.length < length) return undefined
    const message = this.#pending.subarray(0, length)
    this.#pending = this.#pending.subarray(length)
    return message
  }

  /** The main thread has connected already, so the user and the password do not matter. */
  #startUp(message: Buffer): Buffer {
    if (encryptionRequests.includes(message.readInt32BE(4))) return Buffer.from('N')
    this.#hasStarted = true
    const text = (value: string): Buffer => Buffer.from(`${value}\0`)
    return Buffer.concat([
      framed('R', Buffer.alloc(4)),
      ...parameters.map(([name, value]) => framed('S', Buffer.concat([text(name), text(value)]))),
      framed('K', Buffer.alloc(8)),
      framed('Z', Buffer.from('I')),
    ])
  }
}

function framed(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5, type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

function askServer(channel: MessagePort, bytes: Buffer): Uint8Array {
  Atomics.store(flag, 0, 0)
  post({ kind: 'request', bytes })
  Atomics.wait(flag, 0, 0)
  const received: { readonly message: unknown } | undefined = receiveMessageOnPort(channel)
  if (!received) throw new Error('the connection to the database was lost')
  return received.message as Uint8Array
}

const frontend = new Frontend(port)
const pg: PgliteLike = {
  // The package reads the search path before and after, to restore it for the other users of a shared connection.
  query: () => Promise.resolve({ rows: [{ search_path: '' }] }),
  exec: () => Promise.resolve(),
  execProtocolRawStream: (bytes, { onRawData }) => {
    const answer = frontend.write(bytes)
    if (answer.length > 0) onRawData(answer)
  },
}

try {
  const { pgDump } = (await import('@electric-sql/pglite-tools/pg_dump')) as unknown as { readonly pgDump: PgDump }
  post({ kind: 'done', text: await (await pgDump({ pg, args: [...args] })).text() })
} catch (error) {
  post({ kind: 'failed', message: error instanceof Error ? error.message : String(error) })
}
