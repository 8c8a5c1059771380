// A control group for the processes of a benchmark, as systemd and container runtimes create one for a service.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where the groups are that have the controller `cpu`: a hierarchy of its own in version 1, the only one in version 2. */
const hierarchies = [
  { folder: '/sys/fs/cgroup/cpu', entry: /^\d+:(?:[^:]*,)?cpu(?:,[^:]*)?:(.*)$/m, control: 'cpu.shares' },
  { folder: '/sys/fs/cgroup', entry: /^0::(.*)$/m, control: 'cpu.weight' },
]

/**
 * Moves this process, and with it all that it starts later, into a control group, unless it is in one. Outside of one, Linux
 * distributes processor time by session (sched(7), "The autogroup feature"): each backend of PostgreSQL is a session, and
 * priorities count only within one. In a group they count among all threads of the service.
 *
 * @returns a function that moves this process back and removes the group; undefined if it could not be moved, which takes
 *   Linux with control groups, and root
 */
export function enterControlGroup(): (() => void) | undefined {
  const hierarchy = hierarchies.find(({ folder }) => existsSync(join(folder, 'cgroup.procs')))
  if (hierarchy === undefined) return undefined
  const { folder, entry, control } = hierarchy
  const group = join(folder, `rowhouse-bench-${process.pid}`)
  try {
    const previous = join(folder, entry.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '')
    if (previous !== join(folder, '/') && existsSync(join(previous, control))) return () => undefined
    // In version 2, groups have the controller only if the group above them passes it on.
    const controllers = join(folder, 'cgroup.subtree_control')
    if (existsSync(controllers)) writeFileSync(controllers, '+cpu')
    mkdirSync(group)
    const move = (target: string): void => writeFileSync(join(target, 'cgroup.procs'), String(process.pid))
    move(group)
    return () => {
      move(previous)
      try {
        rmdirSync(group)
      } catch {
        // A process that was started in the group is still there.
      }
    }
  } catch {
    return undefined
  }
}
