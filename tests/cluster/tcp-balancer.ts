// HAProxy in front of servers of PostgreSQL: each connection goes to the next one.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { startProgram, type RunningProgram } from './debian-packages.ts'

/**
 * Starts HAProxy.
 *
 * @param servers their ports
 */
export async function startTcpBalancer(
  folder: string,
  servers: readonly number[],
): Promise<RunningProgram & { readonly port: number }> {
  const port = await freePort()
  const file = join(folder, `haproxy-${port}.cfg`)
  await writeFile(
    file,
    `global
  maxconn 500
defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
listen servers
  bind 127.0.0.1:${port}
  balance roundrobin
  default-server check inter 500ms fall 1 rise 1 on-marked-down shutdown-sessions
${servers.map((to, index) => `  server s${index} 127.0.0.1:${to}`).join('\n')}
`,
  )
  return { port, ...(await startProgram('/usr/sbin/haproxy', ['-f', file], port, folder)) }
}
