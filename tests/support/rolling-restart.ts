// Restarts under load that must not lose requests.
import type { Test } from 'tap'
import { childProcesses } from './child-processes.ts'
import type { TestDatabase } from './database.ts'
import { freePort } from './free-port.ts'
import { LedgerLoad } from './ledger-load.ts'
import { says, startProgram, type Program } from './program.ts'

export type RollingRestartOptions = {
  readonly database: TestDatabase
  /** Settings of the server. */
  readonly env: Readonly<Record<string, string>>
  /** Command line of the program. */
  readonly command?: readonly string[]
  readonly requests: number
  readonly keptAlive: number
  readonly fresh: number
}

export type RollingRestartFigures = {
  readonly answered: number
  readonly restarts: number
  readonly lost: readonly string[]
  readonly lostWrites: number
  readonly doubledWrites: number
  /** Milliseconds from the signal to the exit of each replaced process. */
  readonly ending: readonly number[]
}

async function underLoad(
  { database, requests, keptAlive, fresh }: RollingRestartOptions,
  port: number,
  restart: () => Promise<number>,
): Promise<RollingRestartFigures> {
  const load = new LedgerLoad({ port, keptAlive, fresh })
  const ending: number[] = []
  while (load.answered < requests && load.lost.length < 100) ending.push(await restart())
  await load.stop()
  const { answered, lost } = load
  return { answered, lost, restarts: ending.length, ending, ...(await load.verify(database)) }
}

/** Starts a process on the port of the previous one, and stops that one when the new one serves. */
export async function restartBesideEachOther(
  t: Pick<Test, 'teardown'>,
  options: RollingRestartOptions,
): Promise<RollingRestartFigures> {
  const port = await freePort()
  const start = async (): Promise<Program> => {
    const env = { ...options.env, PGRST_SERVER_PORT: String(port), PGRST_SERVER_REUSEPORT: 'true' }
    const program = startProgram(t, env, [], options.command)
    await program.line(says('listening'))
    return program
  }
  let current = await start()
  return underLoad(options, port, async () => {
    const next = await start()
    const began = performance.now()
    current.kill('SIGTERM')
    await current.ended
    current = next
    return performance.now() - began
  })
}

/** Stops one worker after the other; the primary process replaces each. */
export async function restartWorkers(
  t: Pick<Test, 'teardown'>,
  options: RollingRestartOptions,
): Promise<RollingRestartFigures> {
  const port = await freePort()
  const env = { ...options.env, PGRST_SERVER_PORT: String(port), SERVER_WORKERS: '2' }
  const program = startProgram(t, env, [], options.command)
  const served = (): number => program.logged().filter(says('worker-serving')).length
  const isServing = (times: number) => program.line(() => served() >= times)
  await isServing(2)
  return underLoad(options, port, async () => {
    const before = served()
    const lines = program.logged().length
    const [oldest = 0] = await childProcesses(program.pid)
    const began = performance.now()
    process.kill(oldest, 'SIGTERM')
    await program.line(says('worker-ended'), lines)
    const took = performance.now() - began
    await isServing(before + 1)
    return took
  })
}
