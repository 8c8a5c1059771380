// Logs slow statements, with their plans if the settings say so.
import { SecondChanceCache } from '../../common/second-chance-cache.ts'
import { requestScope } from '../../common/request-scope.ts'
import type { OperationConfig } from '../../config/config.ts'
import type { Database, PipelineStatement, SettingsStatement } from '../../rest/database.ts'
import type { Log } from './log.ts'
import { redactPlan } from './redacted-plan.ts'
import type { RequestSummary, SlowRoundTrip } from './request-record.ts'
import { isExplainable, isOwn, isSettings, planOf } from './statement-plan.ts'

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
  #mayExplain(main: PipelineStatement): boolean {
    const { plan, database } = this.#options
    if (plan === 'none' || this.#isExplaining || !isExplainable(main) || database.statistics.waiting > 0) return false
    const { text } = main
    const now = performance.now()
    const explained = this.#explained.get(text)
    if (now - this.#last < planPause || now - (explained?.at ?? -Infinity) < samePause) return false
    this.#last = now
    if (explained) explained.at = now
    else this.#explained.add(text, { at: now }, 0)
    return true
  }

  async #explain(settings: SettingsStatement, main: PipelineStatement): Promise<unknown> {
    const { plan, database } = this.#options
    this.#isExplaining = true
    try {
      const document = await planOf(database, settings, main)
      return plan === 'full' ? document : redactPlan(document)
    } finally {
      this.#isExplaining = false
    }
  }
}
