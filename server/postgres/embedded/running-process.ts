// Identifies a process beyond its pid, which the system reuses.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

let boot: Promise<string> | undefined

/** The kernel's boot id, read once; null without Linux's `/proc`. */
async function bootId(): Promise<string | null> {
  boot ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8')
  return boot.then(
    (id) => id.trim(),
    () => null,
  )
}

/**
 * Identifies the start of a process: equal results for the same pid mean the same process. Null when the process does not
 * exist or is a zombie, which remains for ever in a container without an init.
 * proc(5), `/proc/pid/stat`: the state is the third field, the start time in ticks since boot the 22nd.
 */
export async function birthOf(pid: number): Promise<string | null> {
  const id = await bootId()
  if (id === null) return birthFromPs(pid)
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in parentheses, which may itself contain blanks and parentheses.
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

/** Waits until a process has ended. Returns false when it is still running after `timeout` milliseconds. */
export async function awaitDeath(pid: number, birth: string, timeout: number): Promise<boolean> {
  const deadline = Date.now() + timeout
  while ((await birthOf(pid)) === birth) {
    if (Date.now() > deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return true
}
