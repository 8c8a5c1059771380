// A process that repeatedly sends the same large body on several connections, until it is stopped. It is a separate
// process in order not to delay measurements.
import { spawn } from 'node:child_process'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'

export type Posting = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Number of concurrent requests. */
  readonly connections: number
  /** Rows of about 75 bytes. */
  readonly rows: number
}

/** Number of responses by status, and of failed requests by error. */
export type Posted = Readonly<Record<string, number>>

/** Starts posting, and resolves after the first response. The returned function stops it, and returns the outcomes. */
export async function startPosting(posting: Posting): Promise<() => Promise<Posted>> {
  const file = fileURLToPath(import.meta.url)
  const child = spawn(process.execPath, [...process.execArgv, file, JSON.stringify(posting)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const ended = new Promise<Posted>((resolve) => child.once('close', () => resolve(JSON.parse(text) as Posted)))
  await new Promise((resolve) => child.stdout.once('data', resolve).once('close', resolve))
  return () => {
    child.stdin.end()
    return ended
  }
}

/** `{"id":123,"name":"name 123","note":"xxx…"}`, repeated. */
const bodyOf = (rows: number): string =>
  JSON.stringify(Array.from({ length: rows }, (_, id) => ({ id, name: `name ${id}`, note: 'x'.repeat(30) })))

function post(agent: Agent, { url, headers }: Posting, body: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const sending = request(
      url,
      {
        agent,
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Content-Length': String(body.length), ...headers },
      },
      (response) => {
        response.resume()
        response.on('close', () => resolve(String(response.statusCode)))
      },
    )
    sending.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    sending.end(body)
  })
}

async function run(posting: Posting): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  const body = Buffer.from(bodyOf(posting.rows))
  const posted: Record<string, number> = {}
  let isStopped = false
  process.stdin.resume().on('end', () => (isStopped = true))
  await Promise.all(
    Array.from({ length: posting.connections }, async () => {
      while (!isStopped) {
        const outcome = await post(agent, posting, body)
        if (Object.keys(posted).length === 0) process.stdout.write('\n')
        posted[outcome] = (posted[outcome] ?? 0) + 1
      }
    }),
  )
  agent.destroy()
  process.stdout.write(JSON.stringify(posted))
}

const [, script, argument] = process.argv
if (script === fileURLToPath(import.meta.url) && argument !== undefined) await run(JSON.parse(argument) as Posting)
