// A server that runs prepared statements as PostgreSQL does behind PgBouncer: after an error it skips all messages up to
// Sync, but names are registered and removed when they arrive.
import { createServer, type AddressInfo } from 'node:net'
import { FrontendMessages, PooledNames, type FrontendMessage } from './pooled-names.ts'

const message = (type: string, body: string | Buffer = ''): Buffer => {
  const head = Buffer.alloc(5, type)
  head.writeInt32BE(Buffer.byteLength(body) + 4, 1)
  return Buffer.concat([head, Buffer.from(body)])
}

const error = (severity: string, code: string, text: string): Buffer =>
  message('E', `S${severity}\0V${severity}\0C${code}\0M${text}\0\0`)

const answers: Readonly<Record<string, Buffer>> = {
  P: message('1'),
  B: message('2'),
  C: message('3'),
  D: message('n'),
  E: message('C', 'SELECT 0\0'),
}

export type FakePgBouncer = {
  readonly port: number
  /** The types of the messages that arrived, and a space behind each Sync. */
  readonly received: () => string
  readonly close: () => Promise<void>
}

/**
 * Starts the server. Statements that begin with `fails` fail when they are parsed, those that begin with `raises` when
 * they are executed.
 */
export async function startFakePgBouncer(): Promise<FakePgBouncer> {
  let received = ''
  const server = createServer((socket) => {
    const messages = new FrontendMessages()
    const names = new PooledNames()
    const texts = new Map<string, string>()
    let bound = ''
    let isSkipping = false
    const run = ({ type, body }: FrontendMessage): Buffer | undefined => {
      const [first = '', second = ''] = body.toString().split('\0')
      if (type === 'P') texts.set(first, second)
      if (type === 'B') bound = texts.get(second) ?? ''
      const fails = (type === 'P' && second.startsWith('fails')) || (type === 'E' && bound.startsWith('raises'))
      if (!fails) return answers[type]
      isSkipping = true
      return error('ERROR', '22012', 'division by zero')
    }
    const answer = (sent: FrontendMessage): void => {
      received += sent.type === 'S' ? 'S ' : sent.type
      const fault = names.accept(sent)
      if (fault !== undefined) return void socket.end(error('FATAL', '08P01', fault))
      if (sent.type === 'S') {
        isSkipping = false
        return void socket.write(message('Z', 'I'))
      }
      const response = isSkipping ? undefined : run(sent)
      if (response) socket.write(response)
    }
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', Buffer.alloc(4)), message('K', Buffer.alloc(8)), message('Z', 'I')]))
      socket.on('data', (chunk: Buffer) => messages.read(chunk).forEach(answer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received.trimEnd(),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
