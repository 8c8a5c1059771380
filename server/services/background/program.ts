// The child's side of a background process: it works on one task at a time. If it crashes or hangs, the server replaces it.
import { readdirSync } from 'node:fs'
import { Socket } from 'node:net'
import { constants, setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { bytesChannel, type ProcessMessage, type TaskRequest } from './message.ts'

/** Milliseconds between two checks of the parent. */
const watchInterval = 1000

/** The task is invalid, and the work is refused for that reason. */
export class RefusedTask<Fault> extends Error {
  readonly fault: Fault

  constructor(fault: Fault, message: string, cause?: unknown) {
    super(message, { cause })
    this.fault = fault
  }
}

/** The work of a process. `work` throws RefusedTask for an invalid task. */
export type BackgroundWork<State, Task, Result> = {
  readonly state: State
  readonly work: (task: Task, bytes: Uint8Array) => Promise<Result>
}

/** Receives the bytes of a task. The next one is sent after the reply to this one. */
const receive = (source: Socket, size: number): Promise<Buffer> =>
  new Promise((resolve) => {
    const bytes = Buffer.allocUnsafeSlow(size)
    let end = 0
    const onData = (piece: Buffer): void => {
      end += piece.copy(bytes, end)
      if (end < size) return
      source.off('data', onData).pause()
      resolve(bytes)
    }
    if (size === 0) resolve(bytes)
    else source.on('data', onData).resume()
  })

/**
 * Ends this process when the server was killed. Another thread watches the parent, because this one cannot notice a closed
 * channel while it works. For processes whose work can hang.
 */
export function endWithServer(): void {
  const watch = `
    const parent = process.ppid
    setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }, ${watchInterval})
  `
  new Worker(watch, { eval: true, execArgv: [], stdout: true, stderr: true }).unref()
}

/** Requests go before background work. On Linux a priority belongs to a thread, and later threads inherit it. */
function lowerPriority(): void {
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid]
  for (const thread of threads) {
    try {
      setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL)
    } catch {
      // The thread has ended.
    }
  }
}

/**
 * Receives tasks from the server and replies with results, until the server ends or closes the channel.
 *
 * @param prepare is called once with the options of the server, and resolves with the work
 */
export function serveTasks<Options, State, Task, Result>(
  prepare: (options: Options) => Promise<BackgroundWork<State, Task, Result>>,
): void {
  const reply = (message: ProcessMessage<State, Result, unknown>): void => {
    // The server may have ended meanwhile, which ends this process, too.
    if (process.connected) process.send?.(message, () => undefined)
  }
  // Ignores signals that a terminal or service manager sends to the whole process group. The server ends this process
  // after requests in flight.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  process.on('disconnect', () => process.exit())
  process.once('message', (options: Options) => {
    void prepare(options).then(({ state, work }) => {
      // Not before, because a busy machine would not let it get ready in time.
      lowerPriority()
      const source = new Socket({ fd: bytesChannel })
      const answer = async ({ id, bytes, task }: TaskRequest<Task>): Promise<void> => {
        const received = await receive(source, bytes)
        try {
          reply({ kind: 'done', id, result: await work(task, received) })
        } catch (error) {
          if (error instanceof RefusedTask) reply({ kind: 'refused', id, fault: error.fault, message: error.message })
          else reply({ kind: 'failed', id, message: error instanceof Error ? error.message : String(error) })
        }
      }
      process.on('message', (request: TaskRequest<Task>) => void answer(request))
      reply({ kind: 'ready', state })
    })
  })
}
