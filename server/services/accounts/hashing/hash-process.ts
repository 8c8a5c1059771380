// A process that hashes passwords, as the server sees it. `hash-program.ts` is what it runs.
import { fork, type ChildProcess } from 'node:child_process'
import { childEnvironment, childExecArgv, childProgram } from '../../../common/child-process.ts'
import type { HashResult, HashTask } from './hash-task.ts'

const program = childProgram(import.meta.url, './hash-program')

/** The process ended before it had finished its task. */
export class HashProcessEnded extends Error {}

/** Started at its first task, and again at the next one after its end. Performs one task at a time. */
export class HashProcess {
  readonly #longestIdleTime: number
  #child: ChildProcess | undefined
  #settle: ((outcome: HashResult | HashProcessEnded) => void) | undefined
  #idleTimer: NodeJS.Timeout | undefined

  /** @param longestIdleTime milliseconds without a task after which the process ends */
  constructor(longestIdleTime: number) {
    this.#longestIdleTime = longestIdleTime
  }

  /** @throws Error if the task fails; HashProcessEnded */
  async run(task: HashTask): Promise<string | boolean> {
    clearTimeout(this.#idleTimer)
    const child = (this.#child ??= this.#start())
    // A process that works keeps the server running; an idle one does not.
    child.ref()
    child.channel?.ref()
    const outcome = await new Promise<HashResult | HashProcessEnded>((resolve) => {
      this.#settle = resolve
      // A task that was not delivered is settled by the end of the process.
      child.send(task, (error) => {
        if (error) child.kill('SIGKILL')
      })
    })
    child.unref()
    child.channel?.unref()
    this.#idleTimer = setTimeout(() => this.#end(child), this.#longestIdleTime).unref()
    if (outcome instanceof HashProcessEnded) throw outcome
    if ('error' in outcome) throw new Error(`A password could not be hashed: ${outcome.error}`)
    return outcome.result
  }

  #start(): ChildProcess {
    const child = fork(program, [], {
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
