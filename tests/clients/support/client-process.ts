// A server of a client, which other programs call over HTTP.
import { spawn } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'

/**
 * Starts a program of Node.js for the duration of a test, and waits until an address answers.
 *
 * @param folder that it runs in
 * @param ready address that responds with 200 once the program is ready
 * @throws Error with the output of a program that ends, or that is not ready within a minute
 */
export async function startClientProcess(
  t: Pick<Test, 'teardown'>,
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ready: string,
): Promise<void> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-10_000)))
  const ended = new Promise((resolve) => child.once('exit', resolve))
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  for (let time = 0; time < 600; time++) {
    const status = await fetch(ready).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) return
    if (child.exitCode !== null) break
    await pause(100)
  }
  throw new Error(`${args.join(' ')} is not ready:\n${output}`)
}
