// Clients that load the server while something else is measured, in a process of low priority.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export type BackgroundRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined
}

export type BackgroundLoad = {
  /** Of the server, without a path. */
  readonly origin: string
  /** Sent in turn, repeatedly. Each must be answered with 200. */
  readonly requests: readonly BackgroundRequest[]
  /** How many send at the same time, each the next request after the response to its last one. */
  readonly clients: number
}

export type BackgroundClients = {
  readonly start: () => void
  /** Resolves after the responses to the last requests, with the number of responses so far. */
  readonly stop: () => Promise<number>
  readonly close: () => void
}

const program = fileURLToPath(new URL('background-process.ts', import.meta.url))

/** Starts the process, which sends nothing until `start`. `stop` rejects if a request was refused. */
export function backgroundClients(load: BackgroundLoad): BackgroundClients {
  const child = fork(program, { serialization: 'advanced' })
  const ended = new Promise<never>((_resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the clients in the background ended with ${code}`)))
  })
  // Reported by `stop`.
  ended.catch(() => undefined)
  child.send(load)
  return {
    start: () => child.send('start'),
    stop: () => {
      const stopped = new Promise<number>((resolve) => child.once('message', (done) => resolve(done as number)))
      if (child.connected) child.send('stop')
      return Promise.race([stopped, ended])
    },
    close: () => child.kill(),
  }
}
