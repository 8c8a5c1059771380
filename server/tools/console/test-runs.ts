// Runs of the policy tests that the console starts: one at a time, cancelled when the console no longer asks for it.
import { mkdir } from 'node:fs/promises'
import type { Config } from '../../config/config.ts'
import type { Environment } from '../../config/config-sources.ts'
import { Failure } from '../../http/envelope.ts'
import type { PolicyTestRun, RunMutant, RunRequest, RunTest } from '../../services/console/policy-protocol.ts'
import { messageOf } from '../command-line/error-message.ts'
import { withEmbeddedLaboratory } from '../policy-tests/embedded-laboratory.ts'
import type { Laboratory } from '../policy-tests/laboratory.ts'
import type { JudgedMutant, TestResult } from '../policy-tests/run.ts'
import { readProjectTests, recordTests, runWhole, type ProjectTests, type RunWish } from '../policy-tests/whole-run.ts'

/** Milliseconds without a question after which a run is cancelled. */
const patience = 15_000

class Cancelled extends Error {}

export class TestRuns {
  readonly #patience: number
  #current: Run | undefined

  /** @param patienceTime milliseconds without a question after which a run is cancelled */
  constructor(patienceTime = patience) {
    this.#patience = patienceTime
  }

  /** The current run, or the last one. */
  get current(): PolicyTestRun | null {
    return this.#current?.asked() ?? null
  }

  /**
   * @throws Failure 409 while another one runs; the errors of the files
   */
  async start(request: RunRequest, config: Config, env: Environment): Promise<PolicyTestRun> {
    if (this.#current?.isBusy === true) throw new Failure(409, 'Another run of the policy tests has not ended')
    const run = new Run(request, this.#patience)
    this.#current = run
    await run.begin(config, env)
    return run.asked()
  }

  cancel(): void {
    this.#current?.cancel()
  }
}

class Run {
  readonly #request: RunRequest
  readonly #patience: number
  readonly #tests: RunTest[] = []
  readonly #mutants: RunMutant[] = []
  readonly #comments: string[] = []
  #state: PolicyTestRun['state'] = 'running'
  #stage = 'Setting up the databases.'
  #error: string | null = null
  #recorded: PolicyTestRun['recorded'] = null
  #timer: NodeJS.Timeout | undefined
  /** Whether its databases exist: those of a cancelled run are still removed. */
  #isBusy = true

  constructor(request: RunRequest, patienceTime: number) {
    this.#request = request
    this.#patience = patienceTime
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  /** What is known so far. Asking for it keeps the run going. */
  asked(): PolicyTestRun {
    clearTimeout(this.#timer)
    if (this.isRunning) this.#timer = setTimeout(() => this.cancel(), this.#patience).unref()
    return {
      kind: this.#request.kind,
      state: this.#state,
      stage: this.#stage,
      error: this.#error,
      tests: this.#tests,
      mutants: this.#mutants,
      comments: this.#comments,
      recorded: this.#recorded,
    }
  }

  cancel(): void {
    if (this.isRunning) this.#state = 'cancelled'
    clearTimeout(this.#timer)
  }

  /** Reads the files, and runs the tests in the background. */
  async begin(config: Config, env: Environment): Promise<void> {
    try {
      const project = await readProjectTests(config)
      if (this.#request.kind !== 'record' && project.files.length === 0) {
        throw new Failure(422, `There are no policy tests in ${project.tests}: record who can do what, or write a test`)
      }
      void this.#run(project, config, env)
    } catch (error) {
      this.#end('failed', messageOf(error))
      throw error
    }
  }

  async #run(project: ProjectTests, config: Config, env: Environment): Promise<void> {
    try {
      const wish = { dbUrl: undefined, fixture: project.fixture, jobs: 2 }
      const log = (message: string): void => void this.#comments.push(message)
      await withEmbeddedLaboratory(config, env, wish, log, (laboratory) => this.#use(laboratory, project, config))
      this.#end('done', null)
    } catch (error) {
      this.#end('failed', error instanceof Cancelled ? null : messageOf(error))
    }
  }

  async #use(laboratory: Laboratory, project: ProjectTests, config: Config): Promise<void> {
    this.#continue()
    const { kind, filter } = this.#request
    if (kind === 'record') {
      this.#stage = 'Recording who can do what.'
      const makeFolder = async (path: string): Promise<void> => {
        this.#continue()
        await mkdir(path, { recursive: true })
      }
      const { path, changes, isNew } = await recordTests(laboratory, project, makeFolder)
      this.#recorded = { path, changes, isNew }
      return
    }
    const wish: RunWish = {
      ...(filter === undefined ? {} : { filter }),
      ...(kind === 'coverage' ? { coverage: true } : {}),
      ...(kind === 'mutants' ? { mutate: true } : {}),
    }
    const report = {
      test: (result: TestResult) => this.#test(result),
      coverage: (result: JudgedMutant) => this.#mutant(result),
      mutant: (result: JudgedMutant) => this.#mutant(result),
      comment: (text: string) => void this.#comments.push(text),
    }
    await runWhole(laboratory, project.files, config, wish, report, (stage) => (this.#stage = stage))
  }

  #test({ test: { name, file, line }, problem }: TestResult): void {
    this.#continue()
    this.#tests.push({ name, file, line, problem })
  }

  #mutant({ mutant, noticedBy, error, accepted }: JudgedMutant): void {
    this.#continue()
    const { id, schema, object, sql, command, roles } = mutant
    this.#mutants.push({
      id,
      object: `${schema}.${object}`,
      policy: /: policy "(.*)": /.exec(id)?.[1] ?? null,
      command: command === undefined || command === 'all' ? null : command,
      roles,
      sql,
      outcome: noticedBy ? 'noticed' : accepted ? 'accepted' : 'unnoticed',
      by: noticedBy?.name ?? null,
      reason: noticedBy ? null : (accepted?.reason ?? null),
      error: error ?? null,
    })
  }

  /** @throws Cancelled when the run was cancelled: what receives results is called after each test */
  #continue(): void {
    if (!this.isRunning) throw new Cancelled()
  }

  #end(state: 'done' | 'failed', error: string | null): void {
    clearTimeout(this.#timer)
    this.#isBusy = false
    if (this.isRunning) this.#state = state
    this.#error = error
    this.#stage = ''
  }
}
