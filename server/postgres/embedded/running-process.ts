// Telling one process from another that has, had or will have the same number.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

let boot: Promise<string> | undefined

/** One reading of the kernel's boot id; null where there is no Linux `/proc`. */
async function bootId(): Promise<string | null> {
  boot ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8')
  return boot.then(
    (id) => id.trim(),
    () => null,
  )
}

/**
 * When a process was born: equal texts for the same pid mean the same process. Null when there is no such process, or
 * only a zombie of it (a parent that never waits, as in a container without an init, keeps those for ever).
 * proc(5), `/proc/pid/stat`: the state is the third field, the start time in ticks since boot the 22nd.
 */
export async function birthOf(pid: number): Promise<string | null> {
  const id = await bootId()
  if (id === null) return birthFromPs(pid)
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in brackets, and may itself hold blanks and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const state = fields[0]
    return state === 'Z' || state === 'X' ? null : `${id}/${fields[19]}`
  } catch {
    return null
  }
}

async function birthFromPs(pid: number): Promise<string | null> {
  try {
    const { stdout } = await run('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], { env: { LC_ALL: 'C' } })
    const line = stdout.trim()
    return line === '' || line.startsWith('Z') ? null : line.replace(/^\S+\s+/, '')
  } catch {
    return null
  }
}

/** Waits until a process is gone; false when it is still there after `timeout` milliseconds. */
export async function awaitDeath(pid: number, birth: string, timeout: number): Promise<boolean> {
  const deadline = Date.now() + timeout
  while ((await birthOf(pid)) === birth) {
    if (Date.now() > deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return true
}
