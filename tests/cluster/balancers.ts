// Debian's haproxy and nginx, with the configurations of the README.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../support/free-port.ts'
import { readmeSection } from '../support/readme-section.ts'
import { installPackage } from './debian-user.ts'

export type BalancerName = 'haproxy' | 'nginx'

export type Balancer = {
  readonly url: string
  /**
   * Makes haproxy send no new requests to a process, or again: what an operator does by hand for a process that does not drain.
   *
   * @param index in the list of servers
   */
  readonly setState: (index: number, state: 'drain' | 'ready') => Promise<void>
  /** What nginx has logged about its connections to the processes, with the number of times. */
  readonly errors: () => Promise<ReadonlyMap<string, number>>
  readonly stop: () => Promise<void>
}

/** The configuration of the README with other ports; lines of servers that are not needed are left out. */
function adapted(text: string, port: number, servers: readonly number[]): string {
  const ports = text
    .replace('8080', String(port))
    .replace('bind :', 'bind 127.0.0.1:')
    .replace('listen ', 'listen 127.0.0.1:')
  return ports
    .split('\n')
    .flatMap((line) => {
      const [, digits] = /127\.0\.0\.1:300(\d)/.exec(line) ?? []
      if (digits === undefined) return [line]
      const server = servers[Number(digits) - 1]
      return server === undefined ? [] : [line.replace(/127\.0\.0\.1:300\d/, `127.0.0.1:${server}`)]
    })
    .join('\n')
}

const socketIn = (folder: string): string => join(folder, 'socket')

const commands = {
  haproxy: (folder: string, text: string) => ({
    text: `global\n  maxconn 2000\n  stats socket ${socketIn(folder)} level admin\n${text}`,
    args: ['-db', '-q', '-f', join(folder, 'configuration')],
  }),
  nginx: (folder: string, text: string) => ({
    text: `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; worker_processes 1;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 2000; }
http { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f;
uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
${text} }`,
    args: ['-c', join(folder, 'configuration'), '-p', folder, '-e', join(folder, 'error.log')],
  }),
}

/**
 * Starts a balancer, and waits until it reaches a process that is ready.
 *
 * @param servers ports of the processes on this machine, at most three
 */
export async function startBalancer(name: BalancerName, servers: readonly number[]): Promise<Balancer> {
  const binary = `/usr/sbin/${name}`
  if (!existsSync(binary)) installPackage(name)
  const folder = await mkdtemp(join(tmpdir(), `rowhouse-${name}-`))
  const port = await freePort()
  const section = readmeSection(name === 'nginx' ? 'nginx-balancer' : name)
  const { text, args } = commands[name](folder, adapted(section, port, servers))
  await writeFile(join(folder, 'configuration'), text)
  const child = spawn(binary, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = `http://127.0.0.1:${port}`
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`${name} ended with code ${child.exitCode}`)
    const response = await fetch(`${url}/ready`).catch(() => undefined)
    await response?.text()
    return response?.status === 200
  }
  while (!(await isReady())) await pause(50)
  return {
    url,
    setState: async (index, state) => {
      const answer = await tell(socketIn(folder), `set server rowhouse/${'abc'[index] ?? ''} state ${state}`)
      if (answer.trim() !== '') throw new Error(`haproxy: ${answer}`)
    },
    errors: async () => {
      const log = name === 'nginx' ? await readFile(join(folder, 'error.log'), 'utf8') : ''
      const counts = new Map<string, number>()
      for (const [, text = ''] of log.matchAll(/\*\d+ (.* upstream), client: /g))
        counts.set(text, (counts.get(text) ?? 0) + 1)
      return counts
    },
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Sends a command to haproxy's socket, and returns its answer. */
const tell = (socket: string, words: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = ''
    const connection = connect(socket, () => connection.end(`${words}\n`))
    connection.setEncoding('utf8').on('data', (text: string) => (answer += text))
    connection.once('error', reject).once('end', () => resolve(answer))
  })
