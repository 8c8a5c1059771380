// Sockets of `/realtime/v1` in a process of their own.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export type ClientsCommand =
  | {
      readonly kind: 'open'
      /** Of the server, with the scheme `ws`. */
      readonly url: string
      /** Used in turn. */
      readonly tokens: readonly string[]
      readonly count: number
      /** Undefined: the sockets join no channel. */
      readonly topic: string | undefined
      readonly config: object
    }
  | { readonly kind: 'send'; readonly topic: string; readonly perSecond: number; readonly seconds: number }
  /** Asks for the delays of all messages since the last time. */
  | { readonly kind: 'take' }
  | { readonly kind: 'close' }

export type ClientsReport =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly message: string }
  /** Milliseconds from the sending of each message to its arrival. */
  | { readonly kind: 'delays'; readonly delays: readonly number[] }

export type RealtimeClients = {
  /** Resolves when the command has been obeyed, with the delays if it asks for them. */
  readonly run: (command: ClientsCommand) => Promise<readonly number[]>
  readonly end: () => void
}

const program = fileURLToPath(new URL('realtime-process.ts', import.meta.url))

export function realtimeClients(): RealtimeClients {
  const child = fork(program, { serialization: 'advanced' })
  const ended = new Promise<never>((_resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the realtime clients ended with ${code}`)))
  })
  ended.catch(() => undefined)
  const run = (command: ClientsCommand): Promise<readonly number[]> => {
    const answered = new Promise<readonly number[]>((resolve, reject) => {
      let delays: readonly number[] = []
      const onReport = (report: ClientsReport): void => {
        if (report.kind === 'delays') {
          delays = report.delays
          return
        }
        child.off('message', onReport)
        if (report.kind === 'done') resolve(delays)
        else reject(new Error(report.message))
      }
      child.on('message', onReport)
    })
    child.send(command)
    return Promise.race([answered, ended])
  }
  return { run, end: () => child.kill() }
}
