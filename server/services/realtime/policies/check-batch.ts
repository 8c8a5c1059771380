// Checks for many callers in few transactions: those that are asked for at the same time run one after the other on a connection.
import type { Database } from '../../../postgres/database.ts'
import type { JsonStatement, TextRow } from '../../../postgres/json-statement.ts'
import type { SettingsStatement } from '../../../rest/database.ts'

/** Checks of one transaction: more save little, and all of them run again one by one when one of them fails. */
const mostChecks = 50
/** Transactions that run at the same time. */
const mostTransactions = 4

type Check = {
  readonly settings: SettingsStatement
  readonly resolve: (rows: TextRow[]) => void
  readonly reject: (error: unknown) => void
}

/** Checks of the same statement and the same rows. */
type Group = { readonly statement: JsonStatement; readonly rows: string; readonly checks: Check[] }

export type CheckDatabase = Pick<Database, 'runWith' | 'runForEach'>

export class CheckBatch {
  readonly #database: CheckDatabase
  readonly #groups = new Map<JsonStatement, Map<string, Group>>()
  readonly #waiting: (() => void)[] = []
  #running = 0
  #isScheduled = false

  constructor(database: CheckDatabase) {
    this.#database = database
  }

  /** Runs a statement on rows for a caller. @throws the error of the statement, or of the connection */
  run(statement: JsonStatement, settings: SettingsStatement, rows: string): Promise<TextRow[]> {
    return new Promise((resolve, reject) => {
      let groups = this.#groups.get(statement)
      if (!groups) this.#groups.set(statement, (groups = new Map<string, Group>()))
      let group = groups.get(rows)
      if (!group) groups.set(rows, (group = { statement, rows, checks: [] }))
      group.checks.push({ settings, resolve, reject })
      if (this.#isScheduled) return
      this.#isScheduled = true
      setImmediate(() => this.#send())
    })
  }

  #send(): void {
    this.#isScheduled = false
    const groups = [...this.#groups.values()].flatMap((ofStatement) => [...ofStatement.values()])
    this.#groups.clear()
    for (const { statement, rows, checks: all } of groups) {
      // Only the login role may check sessions, not the role of the check before.
      const alone = all.filter(({ settings }) => settings.checksSession)
      for (const check of alone) void this.#runPart(statement, rows, [check])
      const checks = all.filter(({ settings }) => !settings.checksSession)
      const size = Math.min(mostChecks, Math.max(1, Math.ceil(checks.length / mostTransactions)))
      for (let start = 0; start < checks.length; start += size) {
        void this.#runPart(statement, rows, checks.slice(start, start + size))
      }
    }
  }

  async #runPart(statement: JsonStatement, rows: string, checks: readonly Check[]): Promise<void> {
    // A single one shares a connection with others.
    if (checks.length === 1) return this.#runChecks(statement, rows, checks)
    if (this.#running >= mostTransactions) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      await this.#runChecks(statement, rows, checks)
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }

  async #runChecks(statement: JsonStatement, rows: string, checks: readonly Check[]): Promise<void> {
    if (checks.length > 1) {
      try {
        const settings = checks.map((check) => check.settings)
        const results = await this.#database.runForEach(statement, settings, [rows])
        for (const [index, { resolve }] of checks.entries()) resolve(results[index] ?? [])
        return
      } catch {
        // Finds out whose check has failed.
      }
    }
    await Promise.all(
      checks.map(({ settings, resolve, reject }) =>
        this.#database.runWith(statement, settings, [rows]).then(resolve, reject),
      ),
    )
  }
}
