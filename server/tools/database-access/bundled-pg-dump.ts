// pg_dump of PostgreSQL 18, which the npm package @electric-sql/pglite-tools contains as WebAssembly. It works on every
// machine, with servers of its own major version and older ones.
import { Worker } from 'node:worker_threads'
import type { Duplex } from 'node:stream'
import type { Client } from '../../postgres/connection/client.ts'
import { intercept } from '../../postgres/protocol/incoming.ts'
import type { PgDumpMessage, PgDumpTask } from './pg-dump-thread.ts'

/** Major version of the bundled pg_dump, which refuses to read newer servers. */
export const bundledMajorVersion = 18

/** What libpq wants to know about a session when it connects. */
const reported = ['server_version', 'server_encoding', 'client_encoding', 'standard_conforming_strings', 'is_superuser']

/**
 * Runs pg_dump on a connection of its own, which is used for nothing else until the promise settles.
 *
 * @param args without those for the connection, the format and the output
 * @returns the SQL
 * @throws Error with the messages of pg_dump; when the connection is lost
 */
export async function bundledPgDump(client: Client, args: readonly string[]): Promise<string> {
  const { rows } = await client.query<{ name: string; value: string }>(
    'select name, pg_catalog.current_setting(name, true) as value from pg_catalog.unnest($1::pg_catalog.text[]) as name',
    [reported],
  )
  const answered = new SharedArrayBuffer(4)
  const parameters = rows.map(({ name, value }) => [name, value] as const)
  const worker = startThread({ args, parameters, answered })
  const relay = new Relay(client)
  const answer = (bytes: Buffer): void => {
    worker.postMessage(bytes)
    const flag = new Int32Array(answered)
    Atomics.store(flag, 0, 1)
    Atomics.notify(flag, 0)
  }
  try {
    return await new Promise<string>((resolve, reject) => {
      worker.on('error', reject)
      worker.on('exit', () => reject(new Error('pg_dump ended unexpectedly')))
      worker.on('message', (message: PgDumpMessage) => {
        if (message.kind === 'done') resolve(message.text)
        else if (message.kind === 'failed') reject(new Error(message.message.trim()))
        else relay.ask(message.bytes).then(answer, reject)
      })
    })
  } finally {
    relay.end()
    await worker.terminate()
  }
}

/** Starts the thread. In tests it is TypeScript, which tsx compiles only if it is registered in the thread. */
function startThread(workerData: PgDumpTask): Worker {
  if (!import.meta.url.endsWith('.ts'))
    return new Worker(new URL('./pg-dump-thread.js', import.meta.url), { workerData })
  const program = JSON.stringify(new URL('./pg-dump-thread.ts', import.meta.url).href)
  const text = `import('tsx/esm/api').then(({ register }) => (register(), import(${program})))`
  return new Worker(text, { eval: true, workerData })
}

/** ReadyForQuery: type `Z`, length 5, transaction status. */
const readyForQuery = 0x5a

/** Sends messages to the server as they are, and collects its answers. */
class Relay {
  readonly #stream: Duplex
  readonly #giveBack: () => void
  readonly #parts: Buffer[] = []
  /** What has arrived of the next message's head: its type and length. */
  #head = Buffer.alloc(0)
  #type: number | undefined
  /** Bytes of the current message's body that have not arrived. */
  #missing = 0
  #settle: { readonly resolve: (bytes: Buffer) => void; readonly reject: (error: Error) => void } | undefined
  readonly #onClose = (): void => this.#settle?.reject(new Error('the connection to the database was lost'))

  constructor(client: Client) {
    this.#stream = (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream
    this.#giveBack = intercept(this.#stream, (chunk) => this.#receive(chunk))
    this.#stream.on('close', this.#onClose)
  }

  /** Sends messages, and resolves with everything up to ReadyForQuery. */
  ask(bytes: Uint8Array): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#stream.write(bytes)
    })
  }

  /** Lets the client read its connection again. */
  end(): void {
    this.#stream.off('close', this.#onClose)
    this.#giveBack()
  }

  #receive(chunk: Buffer): void {
    // The chunk is valid during the call only.
    this.#parts.push(Buffer.from(chunk))
    this.#scan(chunk)
    if (this.#type !== readyForQuery || this.#missing > 0 || this.#head.length > 0) return
    this.#type = undefined
    const answer = Buffer.concat(this.#parts.splice(0))
    this.#settle?.resolve(answer)
    this.#settle = undefined
  }

  /** Follows the messages. */
  #scan(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#missing > 0) {
        const skipped = Math.min(this.#missing, chunk.length - at)
        this.#missing -= skipped
        at += skipped
        continue
      }
      const part = chunk.subarray(at, at + 5 - this.#head.length)
      this.#head = Buffer.concat([this.#head, part])
      at += part.length
      if (this.#head.length < 5) return
      this.#missing = this.#head.readInt32BE(1) - 4
      this.#type = this.#head[0]
      this.#head = Buffer.alloc(0)
    }
  }
}
