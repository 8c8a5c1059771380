// Logs slow statements, with their plans if the settings say so.
import { SecondChanceCache } from '../../common/second-chance-cache.ts'
import { requestScope } from '../../common/request-scope.ts'
import type { OperationConfig } from '../../config/config.ts'
import type { Caller, Database, PipelineStatement, RestTransaction, SettingsStatement } from '../../rest/database.ts'
import type { Log } from './log.ts'
import { redactPlan } from './redacted-plan.ts'
import type { RequestSummary, SlowRoundTrip } from './request-record.ts'

export type SlowQueryOptions = {
  readonly plan: OperationConfig['slowQueryPlan']
  readonly log: Pick<Log, 'write'>
  readonly database: Pick<Database, 'run'> & { readonly statistics: { readonly waiting: number } }
}

/** UTF-16 units of a statement in the log. */
const longestText = 10_000
/** Milliseconds between two plans, and between two plans of the same statement. */
const planPause = 1000
const samePause = 60_000
/** Statements whose last plan is remembered. */
const maxRemembered = 1000

export class SlowQueries {
  readonly #options: SlowQueryOptions
  /** When the statements were explained last, as `performance.now()`. */
  readonly #explained = new SecondChanceCache<{ at: number }>({ entries: maxRemembered, bytes: maxRemembered * 4096 })
  #isExplaining = false
  #last = -Infinity

  constructor(options: SlowQueryOptions) {
    this.#options = options
  }

  /** @param request undefined for a statement of the program itself */
  add({ statements, milliseconds }: SlowRoundTrip, request: RequestSummary | undefined): void {
    const own = statements.filter(isOwn)
    const texts = (own.length > 0 ? own : statements).map(({ text }) => text).join(';\n')
    const write = (plan?: unknown): void =>
      this.#options.log.write({
        kind: 'slow-query',
        duration: Math.round(milliseconds * 100) / 100,
        text: texts.length > longestText ? `${texts.slice(0, longestText)}…` : texts,
        request,
        plan,
      })
    const settings = statements.find(isSettings)
    const main = own.at(-1)
    if (!settings || !main || !this.#mayExplain(main)) write()
    // The context is that of the connection: the one of the request that has opened it.
    else void requestScope.exit(() => this.#explain(settings, main)).then(write, () => write())
  }

  /** Whether a plan is wanted, and it is neither too soon for one nor a burden. */
  #mayExplain({ text }: PipelineStatement): boolean {
    const { plan, database } = this.#options
    if (plan === 'none' || this.#isExplaining || !explainable.test(text) || database.statistics.waiting > 0)
      return false
    const now = performance.now()
    const explained = this.#explained.get(text)
    if (now - this.#last < planPause || now - (explained?.at ?? -Infinity) < samePause) return false
    this.#last = now
    if (explained) explained.at = now
    else this.#explained.add(text, { at: now }, 0)
    return true
  }

  /** The plan of a statement with its parameters, role and claims. Nothing is executed. */
  async #explain(settings: SettingsStatement, { text, values }: PipelineStatement): Promise<unknown> {
    const { plan, database } = this.#options
    this.#isExplaining = true
    try {
      const transaction: RestTransaction = {
        settings,
        before: [planTimeout],
        statements: [{ text: `EXPLAIN (FORMAT JSON) ${text}`, values, isUnprepared: true, hasNoEffect: true }],
        isolation: null,
        readOnly: true,
        hasNoEffect: true,
        rollback: true,
        caller: nobody,
        checkResult: undefined,
        stats: undefined,
      }
      const { rows } = await database.run(transaction, { prepare: false, sharing: 'none' })
      const document: unknown = JSON.parse(rows[0]?.[0]?.[0]?.toString() ?? 'null')
      return plan === 'full' ? document : redactPlan(document)
    } finally {
      this.#isExplaining = false
    }
  }
}

const explainable = /^\s*(select|with|insert|update|delete|merge|values)\b/i

const isSettings = (statement: PipelineStatement): statement is SettingsStatement => 'checksSession' in statement

/** Whether a statement is neither the settings of a transaction nor one of its commands. */
const isOwn = (statement: PipelineStatement): boolean =>
  !isSettings(statement) && !(statement.isUnprepared === true && statement.hasNoEffect === true)

/** Limits planning, which may evaluate immutable functions of users. It comes after the timeout of the role. */
const planTimeout: PipelineStatement = {
  text: "select pg_catalog.set_config('statement_timeout', '1000', true)",
  values: [],
  isUnprepared: true,
  hasNoEffect: true,
}

/** Plans are determined for the log, whose statements are not logged themselves. */
const nobody: Caller = {
  isGone: false,
  onGone: () => () => undefined,
  observer: {
    timesStatements: false,
    note: undefined,
    connectionTaken: () => undefined,
    statementEnded: () => undefined,
    roundTripEnded: () => undefined,
  },
}
