// A control group for the processes of a benchmark, as systemd and container runtimes create one for a service.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The hierarchy with the controller `cpu`: of its own in version 1, the only one in version 2. */
const hierarchies = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup']

/**
 * Moves this process, and with it all that it starts later, into a control group. Outside of one, Linux distributes
 * processor time by session (sched(7), "The autogroup feature"): each backend of PostgreSQL is a session, and priorities
 * count only within one. In a group they count among all threads of the service.
 *
 * @returns whether it was moved: on Linux with control groups, as root
 */
export function enterControlGroup(): boolean {
  const hierarchy = hierarchies.find((folder) => existsSync(join(folder, 'cgroup.procs')))
  if (hierarchy === undefined) return false
  const group = join(hierarchy, 'rowhouse-bench')
  try {
    // In version 2, groups have the controller only if the group above them passes it on.
    const controllers = join(hierarchy, 'cgroup.subtree_control')
    if (existsSync(controllers)) writeFileSync(controllers, '+cpu')
    mkdirSync(group, { recursive: true })
    writeFileSync(join(group, 'cgroup.procs'), String(process.pid))
    return true
  } catch {
    return false
  }
}
