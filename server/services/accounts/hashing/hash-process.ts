// A process that hashes passwords, as the server sees it. `hash-program.ts` is what it runs.
import { fork, type ChildProcess } from 'node:child_process'
import { childEnvironment, childExecArgv, childProgram } from '../../../common/child-process.ts'
import type { HashPriority, HashResult, HashTask } from './hash-task.ts'

const program = childProgram(import.meta.url, './hash-program')

/** The process ended before it had finished its task. */
class HashProcessEnded extends Error {}

/** Started at its first task, and again at the next one after its end. Performs one task after the other. */
export class HashProcess {
  readonly #priority: HashPriority
  readonly #longestIdleTime: number
  #child: ChildProcess | undefined
  #settle: ((outcome: HashResult | HashProcessEnded) => void) | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()
  #tasks = 0
  #isNeeded = false

  /** @param longestIdleTime milliseconds without a task after which the process ends */
  constructor(priority: HashPriority, longestIdleTime: number) {
    this.#priority = priority
    this.#longestIdleTime = longestIdleTime
  }

  /** Whether it has a task, which may be one that it was abandoned with. */
  get isBusy(): boolean {
    return this.#tasks > 0
  }

  /**
   * Performs a task after those before it.
   *
   * @throws Error if the task fails, or if the process ends during it twice
   */
  run(task: HashTask): Promise<string | boolean> {
    this.#tasks++
    this.#setNeeded(true)
    const outcome = this.#last
      .then(() => this.#perform(task))
      .catch((error: unknown) => {
        // It may have ended before the task: the system kills idle processes, too, when it lacks memory. A task has no
        // effects, so that it can be repeated.
        if (error instanceof HashProcessEnded) return this.#perform(task)
        throw error
      })
      .finally(() => {
        if (--this.#tasks === 0) this.#setNeeded(false)
      })
    this.#last = outcome.catch(() => undefined)
    return outcome
  }

  /** The results of its tasks so far are not needed any more: they do not keep the server running. */
  abandon(): void {
    this.#setNeeded(false)
  }

  /** A process whose results are needed keeps the server running. */
  #setNeeded(isNeeded: boolean): void {
    this.#isNeeded = isNeeded
    for (const handle of [this.#child, this.#child?.channel]) {
      if (isNeeded) handle?.ref()
      else handle?.unref()
    }
  }

  /** @throws Error if the task fails; HashProcessEnded */
  async #perform(task: HashTask): Promise<string | boolean> {
    clearTimeout(this.#idleTimer)
    const child = (this.#child ??= this.#start())
    // Also for a process that was started just now.
    this.#setNeeded(this.#isNeeded)
    const outcome = await new Promise<HashResult | HashProcessEnded>((resolve) => {
      this.#settle = resolve
      // A task that was not delivered is settled by the end of the process.
      child.send(task, (error) => {
        if (error) child.kill('SIGKILL')
      })
    })
    this.#idleTimer = setTimeout(() => this.#end(child), this.#longestIdleTime).unref()
    if (outcome instanceof HashProcessEnded) throw outcome
    if ('error' in outcome) throw new Error(`A password could not be hashed: ${outcome.error}`)
    return outcome.result
  }

  #start(): ChildProcess {
    const child = fork(program, [this.#priority], {
      serialization: 'advanced',
      env: childEnvironment(),
      execArgv: childExecArgv(),
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // A session of its own: Linux distributes processor time by session (sched(7), "The autogroup feature"). Also keeps
      // the signals of a terminal from it.
      detached: true,
    })
    child.on('message', (outcome: HashResult) => {
      if (this.#child === child) this.#settle?.(outcome)
    })
    const end = (reason: string): void => {
      if (this.#child !== child) return
      this.#child = undefined
      this.#settle?.(new HashProcessEnded(`A password could not be hashed: its process has ended with ${reason}`))
    }
    child.on('error', (error) => {
      child.kill('SIGKILL')
      end(error.message)
    })
    child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`))
    return child
  }

  /** The process ends when its channel is closed. */
  #end(child: ChildProcess): void {
    if (this.#child !== child) return
    this.#child = undefined
    if (child.connected) child.disconnect()
  }
}
