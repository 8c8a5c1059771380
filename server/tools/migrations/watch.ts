// Follows the folder of migrations in development: a saved file is tried in a new database first, and then applied.
import { watch as watchFolder } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../postgres/connection/client.ts'
import { messageOf } from '../command-line/error-message.ts'
import { tryFile } from './apply.ts'
import { MigrationError, type ErrorPlace } from './migration-error.ts'
import { readMigrations, type MigrationFile } from './migration-file.ts'
import { planMigrations, type PlannedMigration } from './plan.ts'
import { readRecord } from './record.ts'

export type WatchEvent = {
  /** `error` for a file that was refused, `notice` for everything else. */
  readonly kind: 'notice' | 'error'
  readonly message: string
  readonly place?: ErrorPlace
}

export type WatchOptions = {
  readonly report: (event: WatchEvent) => void
  /** Ends watching. */
  readonly signal: AbortSignal
  /** Applies files that are older than one that is applied. */
  readonly includeAll?: boolean
}

/** What watching needs of databases. */
export type WatchedDatabases = {
  /** Lends a connection to the database that is served, as its owner. */
  readonly served: <T>(use: (client: Client) => Promise<T>) => Promise<T>
  /**
   * Lends a connection to a new database that has the server's migrations and these files, and is removed afterwards.
   * Throws the error of a file.
   */
  readonly fresh: <T>(files: readonly MigrationFile[], use: (client: Client) => Promise<T>) => Promise<T>
  /** Applies the pending files to the database that is served. Returns their paths. */
  readonly apply: (client: Client) => Promise<readonly string[]>
}

/** Milliseconds that a folder must be quiet: an editor writes a file in several steps. */
const quiet = 100

/**
 * Watches a folder until the signal. Files that are pending at the beginning are treated as if they had just been saved.
 *
 * @throws the error of watching the folder, or of the first look at the database
 */
export async function watchMigrations(
  folder: string,
  databases: WatchedDatabases,
  { report, signal }: WatchOptions,
): Promise<void> {
  const changes = new Changes(folder, signal)
  let refused = ''
  const look = async (): Promise<void> => {
    try {
      for (const event of await follow(folder, databases)) report(event)
      refused = ''
    } catch (error) {
      const message = messageOf(error)
      // A folder is often saved without a change of the file that was refused.
      if (message !== refused) {
        report({ kind: 'error', message, ...(error instanceof MigrationError ? { place: error.place } : {}) })
      }
      refused = message
    }
  }
  report({ kind: 'notice', message: `Watching ${folder}` })
  try {
    do await look()
    while (await changes.next())
  } finally {
    changes.close()
  }
}

/** Tries and applies what was saved. */
async function follow(folder: string, { served, fresh, apply }: WatchedDatabases): Promise<readonly WatchEvent[]> {
  const { files } = await readMigrations(folder)
  const planned = planMigrations(files, await served(readRecord))
  const saved = planned.filter(isChanged)
  const events: WatchEvent[] = []
  for (const { file, state } of saved) {
    if (!file) continue
    const before = files.slice(0, files.indexOf(file))
    await fresh(before, (client) => tryFile(client, file))
    if (state === 'edited') events.push({ kind: 'notice', message: editedMessage(file) })
  }
  if (saved.length === 0 || events.length > 0) return events
  const applied = await served(apply)
  return applied.length === 0 ? [] : [{ kind: 'notice', message: `Applied: ${applied.join(', ')}` }]
}

const changed: readonly PlannedMigration['state'][] = ['pending', 'out of order', 'edited', 'extended', 'incomplete']

/** Whether to look at a file. One without statements is still being written. */
const isChanged = ({ state, file }: PlannedMigration): boolean =>
  changed.includes(state) && file !== undefined && file.statements.length > 0

const editedMessage = (file: MigrationFile): string =>
  [
    `${file.path}: a new database accepts the file, but this database has what it said before.`,
    'To go on, undo the change and put it into a new file, or create the embedded database again from all files:',
    'stop `serve`, delete its data folder, start it.',
    `If you have made the change by hand: \`rowhouse migrate --accept ${file.name}\`.`,
  ].join('\n')

/** Changes in a folder. */
class Changes {
  readonly #watcher
  readonly #signal: AbortSignal
  #hasChanged = false
  #wake: (() => void) | undefined
  #failure: Error | undefined

  constructor(folder: string, signal: AbortSignal) {
    this.#signal = signal
    this.#watcher = watchFolder(folder, () => {
      this.#hasChanged = true
      this.#wake?.()
    })
    this.#watcher.on('error', (error) => {
      this.#failure = error
      this.#wake?.()
    })
    signal.addEventListener('abort', () => this.#wake?.(), { once: true })
  }

  /** Waits for a change, and until the folder is quiet. False after the signal. */
  async next(): Promise<boolean> {
    for (;;) {
      if (this.#failure) throw this.#failure
      if (this.#signal.aborted) return false
      if (this.#hasChanged) break
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    do {
      this.#hasChanged = false
      await delay(quiet)
    } while (this.#hasChanged)
    return true
  }

  close(): void {
    this.#watcher.close()
  }
}
