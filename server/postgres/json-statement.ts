// A statement of a service that runs for many callers: prepared, and on a shared connection once it is known to be
// brief.
import { StatementStats } from '../common/statement-stats.ts'
import type {
  Caller,
  PipelineStatement,
  RestTransaction,
  SettingsStatement,
  TransactionResult,
} from '../rest/database.ts'
import type { RawRow } from '../rest/row-transfer.ts'
import type { Access } from './admission.ts'
import { identitySettings, type Actor } from './identity-settings.ts'

export type JsonStatementOptions = {
  readonly access: Access
  /**
   * Whether it has no effect outside its transaction, so that it may run twice, and leaves nothing in its session: under any row
   * level security policy, or, as a function, under those of the moment.
   */
  readonly hasNoEffect?: boolean | (() => boolean)
}

/** The value of a parameter. Buffers are `bytea`. */
export type Parameter = string | number | boolean | Buffer | null

/** A statement whose first column is of type `json`. */
export class JsonStatement {
  readonly text: string
  readonly access: Access
  readonly #hasNoEffect: boolean | (() => boolean)
  readonly #stats = new StatementStats()

  constructor(text: string, { access, hasNoEffect = false }: JsonStatementOptions) {
    this.text = text
    this.access = access
    this.#hasNoEffect = hasNoEffect
  }

  get hasNoEffect(): boolean {
    return typeof this.#hasNoEffect === 'function' ? this.#hasNoEffect() : this.#hasNoEffect
  }

  /** A transaction that runs just this statement, in one round trip; see `identitySettings` for `actor`. */
  transaction(actor: Actor | undefined, values: readonly Parameter[]): RestTransaction {
    return this.transactionWith(identitySettings(actor, this.access), values)
  }

  /**
   * The same with other settings.
   *
   * @param rollback whether the transaction is rolled back at the end, which takes a connection of its own
   */
  transactionWith(settings: SettingsStatement, values: readonly Parameter[], rollback = false): RestTransaction {
    const { text, access, hasNoEffect } = this
    return {
      settings,
      before: [],
      statements: [{ text, values: values.map(parameterText), hasNoEffect }],
      isolation: null,
      readOnly: access === 'read',
      hasNoEffect,
      rollback,
      checkResult: undefined,
      stats: this.#stats,
      caller: patient,
    }
  }

  /**
   * A transaction that runs it once after each of the settings. It must have no effect. Settings that its functions have made for
   * one of them, such as what a policy remembers of its caller, do not reach the next.
   */
  transactionForEach(
    settings: readonly [SettingsStatement, ...SettingsStatement[]],
    values: readonly Parameter[],
  ): RestTransaction {
    const [first, ...others] = settings
    const { statements, ...transaction } = this.transactionWith(first, values)
    // Without statistics, it gets a connection of its own.
    return {
      ...transaction,
      statements: [...statements, ...others.flatMap((next) => [resetSettings, next, ...statements])],
      stats: undefined,
    }
  }
}

/** All but the role and the access of the transaction. */
const resetSettings: PipelineStatement = { text: 'RESET ALL', values: [], hasNoEffect: true }

/** Requests of services run to completion even when their client has disconnected. */
const patient: Caller = { isGone: false, onGone: () => () => undefined }

const parameterText = (value: Parameter): string | Buffer | null =>
  value === null || Buffer.isBuffer(value) ? value : String(value)

/** The columns of a row as text. */
export type TextRow = readonly (string | null)[]

/** The first column of every row, parsed. */
export const jsonRows = ({ rows }: TransactionResult): unknown[] => (rows[0] ?? []).map(jsonOf)

/** All columns of every row, as the server sent them. */
export const textRows = ({ rows }: TransactionResult): TextRow[] =>
  (rows[0] ?? []).map((row) => row.map((field) => (field ? field.toString() : null)))

function jsonOf([field]: RawRow): unknown {
  return field ? JSON.parse(field.toString()) : null
}
