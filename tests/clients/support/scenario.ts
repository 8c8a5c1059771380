// A scenario of one client, as a test whose result is a row of the guide.
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import type { ClientName } from '../releases.ts'
import { installed, type Installation } from './installation.ts'
import { report } from './results.ts'

// A global of browsers and of Node 22, which clients of realtime need.
globalThis.WebSocket ??= WebSocket as never

/**
 * Installs a client, runs a test with it, and reports its result.
 *
 * @param done what the scenario does, in a few words for the guide
 * @param run returns what does not work and cannot be mended in the server, as the end of the sentence "works, but"
 */
export async function scenario(
  t: Test,
  client: ClientName,
  done: string,
  run: (t: Test, installation: Installation) => Promise<string | void>,
): Promise<void> {
  let result = 'fails'
  await t.test(`${client}: ${done}`, async (t) => {
    const limits = await run(t, await installed(client))
    if (t.passing()) result = typeof limits === 'string' ? `works, but ${limits}` : 'works'
  })
  report({ client, done, result })
}

/** Reports a client that cannot run. @param why the reason, as the end of the sentence "cannot run here:" */
export function cannotRun(t: Test, client: ClientName, done: string, why: string): void {
  t.test(`${client}: ${done}`, { skip: why }, () => undefined)
  report({ client, done, result: `cannot run here: ${why}` })
}

/** What a promise rejects with. @throws Error if it does not */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => {
      throw new Error(`It has not failed: ${JSON.stringify(value)}`)
    },
    (error: unknown) => error,
  )
