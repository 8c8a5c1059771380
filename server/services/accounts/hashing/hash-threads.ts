// Threads that hash passwords. They have a lower priority than the one that serves requests.
import { Worker } from 'node:worker_threads'
import type { HashResult, HashTask } from './hash-task.ts'

/**
 * Starts the program of a thread. In tests it is TypeScript, like this file; tsx compiles only what the main thread
 * imports, unless it is registered in the thread.
 */
function startThread(): Worker {
  if (!import.meta.url.endsWith('.ts')) return new Worker(new URL('./thread-main.js', import.meta.url))
  const program = JSON.stringify(new URL('./thread-main.ts', import.meta.url).href)
  return new Worker(`import('tsx/esm/api').then(({ register }) => (register(), import(${program})))`, { eval: true })
}

/** A thread, started at its first task. Performs one task at a time. */
class HashThread {
  #worker: Worker | undefined
  #settle: ((outcome: HashResult) => void) | undefined

  async run(task: HashTask): Promise<string | boolean> {
    const worker = (this.#worker ??= this.#start())
    // A thread that works keeps the process running; an idle one does not.
    worker.ref()
    const outcome = await new Promise<HashResult>((resolve) => {
      this.#settle = resolve
      worker.postMessage(task)
    })
    worker.unref()
    if ('error' in outcome) throw new Error(`A password could not be hashed: ${outcome.error}`)
    return outcome.result
  }

  #start(): Worker {
    const worker = startThread()
    worker.on('message', (outcome: HashResult) => this.#settle?.(outcome))
    const end = (error: string): void => {
      if (this.#worker === worker) this.#worker = undefined
      this.#settle?.({ error })
    }
    worker.on('error', (error: Error) => end(error.message))
    worker.on('exit', () => end('the thread has ended'))
    return worker
  }
}

export class HashThreads {
  readonly #idle: HashThread[] = []

  /** Whether a password belongs to a hash; see `verifyHash`. Starts a thread if none is idle: callers bound their number. */
  async verify(passwordHash: string, password: string): Promise<boolean> {
    return (await this.#run({ kind: 'verify', passwordHash, password })) === true
  }

  /** The hash of a password; see `hashPassword`. */
  async hash(password: string): Promise<string> {
    return String(await this.#run({ kind: 'hash', password }))
  }

  async #run(task: HashTask): Promise<string | boolean> {
    const thread = this.#idle.pop() ?? new HashThread()
    try {
      return await thread.run(task)
    } finally {
      this.#idle.push(thread)
    }
  }
}
