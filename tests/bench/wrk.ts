// wrk (https://github.com/wg/wrk) as load generator.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Load, Played } from './load.ts'
import { rawRequest } from './request.ts'

const run = promisify(execFile)

export async function hasWrk(): Promise<boolean> {
  try {
    await run('wrk', ['--version'])
    return true
  } catch (error) {
    // `wrk --version` also fails, but shows that wrk is installed.
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

/** @throws Error if wrk fails, or its output cannot be parsed */
export async function playWithWrk({ url, requests, connections, seconds }: Load): Promise<Played> {
  const texts = [requests.map((request) => rawRequest(request, url)).join('\0')]
  return runWrk('load.lua', texts, { url, connections, seconds })
}

/**
 * Runs wrk, which must be installed.
 *
 * @param script a file of this folder that includes `summary.lua`
 * @param texts the script gets them as files
 * @throws Error if wrk fails, or its output cannot be parsed
 */
export async function runWrk(
  script: 'load.lua' | 'refresh.lua',
  texts: readonly string[],
  { url, connections, seconds }: Pick<Load, 'url' | 'connections' | 'seconds'>,
): Promise<Played> {
  const directory = await mkdtemp(join(tmpdir(), 'rowhouse-wrk-'))
  try {
    const files = texts.map((_, index) => join(directory, String(index)))
    await Promise.all(texts.map((text, index) => writeFile(files[index] ?? '', text)))
    const path = fileURLToPath(new URL(script, import.meta.url))
    const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '5s', '-s', path]
    const { stdout } = await run('wrk', [...options, url.origin, '--', ...files])
    return readWrk(stdout)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

type Summary = Record<
  'requests' | 'microseconds' | 'p50' | 'p99' | 'status' | 'connect' | 'read' | 'write' | 'timeout',
  number
>

/**
 * Parses the line that `summary.lua` prints at the end.
 *
 * @throws Error if there is no such line
 */
export function readWrk(output: string): Played {
  const line = output.split('\n').findLast((text) => text.startsWith('{"requests":'))
  if (line === undefined) throw new Error(`wrk gave no summary:\n${output}`)
  const { requests, microseconds, p50, p99, status, connect, read, write, timeout } = JSON.parse(line) as Summary
  const seconds = microseconds / 1_000_000
  return { requests, seconds, p50, p99, refused: status, broken: connect + read + write + timeout }
}
