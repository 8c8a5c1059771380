// Inspects this server through its probe: memory, and the functions that use the most time.
import { readFile } from 'node:fs/promises'
import type { Server } from './servers.ts'

type Question = { readonly ask: 'memory' | 'start profile' } | { readonly ask: 'stop profile'; readonly file: string }

const ask = ({ child }: Server, question: Question): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the server ended'))
    child.once('exit', ended)
    child.once('message', (answer) => {
      child.off('exit', ended)
      resolve(answer)
    })
    child.send(question)
  })

export const memoryOf = async (server: Server): Promise<NodeJS.MemoryUsage> =>
  (await ask(server, { ask: 'memory' })) as NodeJS.MemoryUsage

/** Writes a CPU profile of `run`, in the format of Chrome's DevTools. */
export async function profiled<T>(server: Server, file: string, run: () => Promise<T>): Promise<T> {
  await ask(server, { ask: 'start profile' })
  const result = await run()
  await ask(server, { ask: 'stop profile', file })
  return result
}

/** https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile */
export type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

export type SelfTime = { readonly where: string; readonly share: number }

const waiting = new Set(['(idle)', '(root)'])

/** The share of busy time spent in each function itself, largest first. */
export function selfTimes({ nodes, samples, timeDeltas }: CpuProfile): SelfTime[] {
  const places = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => [
      id,
      url === '' ? functionName : `${functionName || '(anonymous)'} ${shortened(url)}:${lineNumber + 1}`,
    ]),
  )
  const times = new Map<string, number>()
  let total = 0
  samples.forEach((id, index) => {
    const place = places.get(id) ?? '(unknown)'
    if (waiting.has(place)) return
    const time = timeDeltas[index] ?? 0
    total += time
    times.set(place, (times.get(place) ?? 0) + time)
  })
  return Array.from(times, ([where, time]) => ({ where, share: time / total })).sort((a, b) => b.share - a.share)
}

/** A file path, shortened to the last folder that identifies its package. */
const shortened = (url: string): string => url.replace(/^.*\/(?=(?:dist|node_modules)\/)/, '')

export async function readProfile(file: string): Promise<CpuProfile> {
  return JSON.parse(await readFile(file, 'utf8')) as CpuProfile
}
