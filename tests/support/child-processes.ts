// The child processes of a process.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Process ids of the running children of a process, oldest first.
 *
 * @param command text that their command line must contain
 */
export async function childProcesses(pid: number, command = ''): Promise<readonly number[]> {
  const { stdout } = await run('ps', ['-A', '-ww', '-o', 'pid=', '-o', 'ppid=', '-o', 'stat=', '-o', 'args='])
  return stdout
    .split('\n')
    .filter((line) => line.includes(command))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, state]) => Number(parent) === pid && state?.startsWith('Z') === false)
    .map(([child]) => Number(child))
    .sort((one, other) => one - other)
}
