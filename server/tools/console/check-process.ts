// Checks the database in a process of its own, which ends when it has had nothing to do for a while.
import type { Environment } from '../../config/config-sources.ts'
import { Failure } from '../../http/envelope.ts'
import { TaskError } from '../../services/background/pool-options.ts'
import { BackgroundPool } from '../../services/background/pool.ts'
import { childProgram } from '../../services/background/process.ts'
import type { CheckReport, FixRequest } from '../../services/console/policy-protocol.ts'
import type { FixTrial } from '../check/fix-trial.ts'
import type { CheckSettings } from '../check/run-check.ts'
import type { DoctorFinding } from '../doctor/finding.ts'

export type CheckTask = {
  /** Connection string of the login role. */
  readonly uri: string
  /** The variables of libpq. */
  readonly env: Environment
  readonly settings: CheckSettings
  readonly wanted: Wanted
}

export type Wanted =
  | { readonly kind: 'report' | 'findings' | 'doctor' }
  /** `owner`: connection string of the role that applies migrations. */
  | { readonly kind: 'fixes'; readonly owner: string; readonly request: FixRequest }

/** Why a check failed: whether people see the message, and the code of the error. */
export type CheckFault = { readonly isForPeople: boolean; readonly code: string | undefined }

const program = childProgram(import.meta.url, './check-program')
/** Milliseconds that a check may take, its wait included. */
const timeout = 120_000
/** Milliseconds without a check after which the process ends. */
const longestIdle = 15_000
/** Checks that may wait. */
const queueLimit = 8

export class CheckProcess {
  readonly #pool: BackgroundPool<object, null, CheckTask, string, CheckFault>
  readonly #task: () => Omit<CheckTask, 'wanted'>

  /** @param uri connection string of the login role */
  constructor({
    uri,
    env,
    config,
  }: {
    readonly uri: string
    readonly env: Environment
    readonly config: () => CheckSettings
  }) {
    const variables = Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('PG')))
    this.#task = () => ({ uri, env: variables, settings: settingsOf(config()) })
    this.#pool = new BackgroundPool({
      program,
      options: {},
      texts: {
        process: 'process that checks the database',
        work: 'check',
        task: 'the database',
        timedOut: 'The check took too long: run `rowhouse check`.',
        failed: 'The database could not be checked.',
      },
      size: 1,
      queueLimit,
      timeout,
      longestIdle,
      attempts: 2,
    })
  }

  /** JSON of a `CheckReport`. */
  report(): Promise<string> {
    return this.#run({ kind: 'report' })
  }

  async findings(): Promise<Pick<CheckReport, 'findings' | 'ignored' | 'unseen'>> {
    return JSON.parse(await this.#run({ kind: 'findings' })) as CheckReport
  }

  /** What the doctor says of policies. */
  async slowPolicies(): Promise<DoctorFinding[]> {
    return JSON.parse(await this.#run({ kind: 'doctor' })) as DoctorFinding[]
  }

  /**
   * Tries the statements that mend findings, which takes as long as a check for each of them.
   *
   * @param owner connection string of the role that applies migrations
   */
  async tryFixes(request: FixRequest, owner: string): Promise<FixTrial> {
    return JSON.parse(await this.#run({ kind: 'fixes', owner, request })) as FixTrial
  }

  async #run(wanted: Wanted): Promise<string> {
    try {
      return await this.#pool.run({ ...this.#task(), wanted })
    } catch (error) {
      if (!(error instanceof TaskError)) throw error
      const { fault, message } = error as TaskError<CheckFault>
      if (fault === undefined) throw new Failure(503, message, { cause: error })
      throw fault.isForPeople
        ? new Failure(422, message, { cause: error })
        : Object.assign(new Error(message, { cause: error }), { code: fault.code })
    }
  }
}

/** What a check reads of the settings, which have secrets, too. */
const read = [
  'dbSchemas',
  'dbExtraSearchPath',
  'dbAnonRole',
  'services',
  'dbPreRequest',
  'dbRootSpec',
  'authHooks',
  'authMailerAutoconfirm',
] as const satisfies readonly (keyof CheckSettings)[]

const settingsOf = (settings: CheckSettings): CheckSettings =>
  Object.fromEntries(read.map((key) => [key, settings[key]])) as unknown as CheckSettings
