// Servers of `node:http`, as those of Express, serve the function's calls instead of a port.
import { Server as HttpServer } from 'node:http'
import { Server as NetServer } from 'node:net'
import { NotSupported } from './deno-errors.ts'
import { serve } from './handler.ts'

const ownListen = Reflect.get(NetServer.prototype, 'listen')

/** Receives calls on the socket of the worker. */
export const listenOn = (server: HttpServer, socket: string, onListening: () => void): void =>
  void ownListen.call(server, socket, onListening)

const isHttpServer = (server: NetServer): server is HttpServer => server instanceof HttpServer

/** Replaces `listen` of all servers. */
export function captureServers(): void {
  function listen(this: NetServer, ...options: unknown[]): NetServer {
    if (!isHttpServer(this)) {
      throw new NotSupported('A function cannot listen on a port. Servers of node:http receive its calls')
    }
    const end = serve({ kind: 'node', server: this })
    const [first] = options
    const port = typeof first === 'object' ? (first as { port?: unknown } | null)?.port : first
    const address = { address: '0.0.0.0', family: 'IPv4', port: Number(port) || 8000 }
    const close = (callback?: () => void): NetServer => {
      end()
      process.nextTick(() => {
        this.emit('close')
        callback?.()
      })
      return this
    }
    Object.assign(this, { address: () => address, close })
    const onListening = options.at(-1)
    if (typeof onListening === 'function') this.once('listening', onListening as () => void)
    process.nextTick(() => this.emit('listening'))
    return this
  }
  NetServer.prototype.listen = listen as typeof NetServer.prototype.listen
}
