// The names of prepared statements as PgBouncer keeps them for a client (`max_prepared_statements`): it acts on Parse and
// Close when they arrive, even if the server skips them after an error.
// https://github.com/pgbouncer/pgbouncer/blob/master/src/prepare.c
import type pg from 'pg'
import type { PipelineClient } from '../../server/postgres/protocol/pipeline-client.ts'

/** A message of a client: its type, and what follows its length. */
export type FrontendMessage = { readonly type: string; readonly body: Buffer }

/** Splits what a client sends after its startup into messages. */
export class FrontendMessages {
  #rest: Buffer = Buffer.alloc(0)

  /** Returns the messages that are complete. */
  read(chunk: Buffer): FrontendMessage[] {
    const bytes = Buffer.concat([this.#rest, chunk])
    const messages: FrontendMessage[] = []
    let at = 0
    for (;;) {
      const end = at + 5 <= bytes.length ? at + 1 + bytes.readInt32BE(at + 1) : Infinity
      if (end > bytes.length) break
      messages.push({ type: String.fromCharCode(bytes[at] ?? 0), body: bytes.subarray(at + 5, end) })
      at = end
    }
    this.#rest = bytes.subarray(at)
    return messages
  }
}

export class PooledNames {
  readonly #names = new Set<string>()

  /** Returns why PgBouncer would disconnect the client because of this message, if it would. */
  accept({ type, body }: FrontendMessage): string | undefined {
    const words = body.toString().split('\0')
    const [first = '', second = ''] = words
    if (type === 'P' && first === '' && second === 'DEALLOCATE ALL') this.#names.clear()
    if (type === 'P' && first !== '') {
      if (this.#names.has(first)) return 'prepared statement name is already in use'
      this.#names.add(first)
    }
    // Close and Describe begin with the kind of what they name.
    if (type === 'C' && first.startsWith('S')) this.#names.delete(first.slice(1))
    const used = type === 'B' ? second : type === 'D' && first.startsWith('S') ? first.slice(1) : ''
    return used === '' || this.#names.has(used) ? undefined : 'prepared statement did not exist'
  }
}

/** Watches the messages of a connected client. Returns a list that gets why PgBouncer would disconnect it. */
export function watchNames(client: PipelineClient): readonly string[] {
  const { stream } = (client as unknown as { connection: pg.Connection }).connection
  const messages = new FrontendMessages()
  const names = new PooledNames()
  const faults: string[] = []
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
  stream.write = (...args: unknown[]) => {
    for (const message of messages.read(args[0] as Buffer)) {
      const fault = names.accept(message)
      if (fault !== undefined) faults.push(fault)
    }
    return write(...args)
  }
  return faults
}
