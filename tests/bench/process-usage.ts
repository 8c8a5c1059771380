// What a process and its descendants have used, from Linux's /proc.
// https://man7.org/linux/man-pages/man5/proc.5.html
import { readdir, readFile, writeFile } from 'node:fs/promises'

/** Clock ticks per second, in which the kernel counts processor time for programs: the same on every Linux. */
const ticks = 100

export type Usage = {
  /** User and system time of all of them. */
  readonly cpuSeconds: number
  /** Most memory that one of them held, in bytes, since `forgetPeak`. */
  readonly peakBytes: number
  /** Memory that they hold now, in bytes. */
  readonly residentBytes: number
  readonly processes: number
}

/** The numbers of a line of /proc/PID/stat. The name of the program may hold blanks and brackets. */
export function cpuSecondsOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticks
}

/** A line such as `VmHWM:   1234 kB` of /proc/PID/status, in bytes; 0 when it is not there. */
export function statusBytes(status: string, name: string): number {
  const line = status.split('\n').find((text) => text.startsWith(`${name}:`))
  return line === undefined ? 0 : Number(/\d+/.exec(line)?.[0] ?? 0) * 1024
}

/** A process and its descendants. A thread may end while it is looked at; then it has no children any more. */
async function family(pid: number): Promise<number[]> {
  const pids = [pid]
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const children = await readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')
    for (const child of children.split(' ').filter((text) => text !== '')) pids.push(...(await family(Number(child))))
  }
  return pids
}

/** Undefined where there is no /proc. */
export async function usageOf(pid: number): Promise<Usage | undefined> {
  try {
    const pids = await family(pid)
    let cpuSeconds = 0
    let peakBytes = 0
    let residentBytes = 0
    for (const one of pids) {
      cpuSeconds += cpuSecondsOf(await readFile(`/proc/${one}/stat`, 'utf8'))
      const status = await readFile(`/proc/${one}/status`, 'utf8')
      peakBytes = Math.max(peakBytes, statusBytes(status, 'VmHWM'))
      residentBytes += statusBytes(status, 'VmRSS')
    }
    return { cpuSeconds, peakBytes, residentBytes, processes: pids.length }
  } catch {
    return undefined
  }
}

/** Makes the kernel count the peak of memory anew, from what is held now. */
export async function forgetPeak(pid: number): Promise<void> {
  try {
    for (const one of await family(pid)) await writeFile(`/proc/${one}/clear_refs`, '5')
  } catch {
    // Then the peak is the one since the start.
  }
}
