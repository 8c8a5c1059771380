// autocannon as load generator, in a separate process, if wrk is not installed.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Load, Played } from './load.ts'
import { mountPath } from './request.ts'

const child = fileURLToPath(new URL('cannon-process.ts', import.meta.url))

/** @throws Error if autocannon fails */
export function playWithAutocannon({ url, requests, connections, seconds }: Load): Promise<Played> {
  return new Promise((resolve, reject) => {
    const process = fork(child)
    process.once('message', (played) => resolve(played as Played))
    process.once('error', reject)
    process.once('exit', (code) => reject(new Error(`autocannon ended with ${code}`)))
    process.send({
      url: url.origin,
      connections,
      duration: seconds,
      requests: requests.map(({ method, path, headers, body }) => ({
        method,
        path: mountPath(url) + path,
        headers,
        body,
      })),
    })
  })
}
