// The latest log entries of functions.
import type { FunctionLogEntry } from './function-source.ts'

/** Bytes of the entries of a function that are kept, and of what an entry takes beside its message. */
const mostBytes = 256 * 1024
const bytesOfEntry = 200

const sizeOf = ({ message }: FunctionLogEntry): number => 2 * message.length + bytesOfEntry

/** The latest entries of each function, within a limit. */
export class FunctionLog {
  readonly #onEntry: (entry: FunctionLogEntry) => void
  readonly #entries = new Map<string, { list: FunctionLogEntry[]; bytes: number }>()

  /** @param onEntry receives each entry */
  constructor(onEntry: (entry: FunctionLogEntry) => void) {
    this.#onEntry = onEntry
  }

  add(entry: FunctionLogEntry): void {
    const log = this.#entries.get(entry.function) ?? { list: [], bytes: 0 }
    this.#entries.set(entry.function, log)
    log.list.push(entry)
    log.bytes += sizeOf(entry)
    // Half of them are removed at once, because each removal moves the others.
    if (log.bytes > mostBytes) {
      log.list = log.list.slice(Math.ceil(log.list.length / 2))
      log.bytes = log.list.reduce((sum, kept) => sum + sizeOf(kept), 0)
    }
    this.#onEntry(entry)
  }

  /** The entries of a function, the newest last. */
  of(name: string): readonly FunctionLogEntry[] {
    return this.#entries.get(name)?.list ?? []
  }
}
