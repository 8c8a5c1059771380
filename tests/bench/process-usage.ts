// Resource usage of a process and its descendants, from Linux's /proc.
// https://man7.org/linux/man-pages/man5/proc.5.html
import { readdir, readFile, writeFile } from 'node:fs/promises'

/** Clock ticks per second, in which the kernel reports processor time to user space: the same on every Linux. */
const ticks = 100

export type Usage = {
  /** User and system time of all processes. */
  readonly cpuSeconds: number
  /** Highest peak memory of a single process since `forgetPeak`, in bytes. */
  readonly peakBytes: number
  /** Current memory of all processes, in bytes. */
  readonly residentBytes: number
  readonly processes: number
}

/** The numbers of a line of /proc/PID/stat. The program name may contain blanks and parentheses. */
export function cpuSecondsOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticks
}

/** The value of a line such as `VmHWM:   1234 kB` of /proc/PID/status, in bytes; 0 if there is no such line. */
export function statusBytes(status: string, name: string): number {
  const line = status.split('\n').find((text) => text.startsWith(`${name}:`))
  return line === undefined ? 0 : Number(/\d+/.exec(line)?.[0] ?? 0) * 1024
}

/** A process and its descendants. A thread may end while it is read; it then has no children. */
async function family(pid: number): Promise<number[]> {
  const pids = [pid]
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const children = await readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')
    for (const child of children.split(' ').filter((text) => text !== '')) pids.push(...(await family(Number(child))))
  }
  return pids
}

/** Undefined on systems without /proc. */
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

/** Makes the kernel reset the peak of memory to the current value. */
export async function forgetPeak(pid: number): Promise<void> {
  try {
    for (const one of await family(pid)) await writeFile(`/proc/${one}/clear_refs`, '5')
  } catch {
    // Without permission, the peak is counted from the start of the process.
  }
}
