// An HTTP connection for requests that no client library would send. They are sent as bytes, one at a time.
import { connect, type Socket } from 'node:net'

/** Headers and body have one character per byte. */
export type RawRequest = { readonly head: string; readonly body: string; readonly isHead: boolean }
export type RawResponse = {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
}

/** Request line and headers as one text. */
export const requestHead = (method: string, target: string, headers: readonly (readonly [string, string])[]): string =>
  [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n')

const headEnd = '\r\n\r\n'
/** What a chunked body ends with. */
const lastChunk = '0\r\n\r\n'

export class RawConnection {
  readonly #port: number
  #socket: Socket | undefined
  #received = ''
  /** What has arrived since: joined only when a response can be complete, because it takes time for each byte before. */
  #pieces: string[] = []
  /** The characters that a response has at least, or undefined where it ends with the last chunk. */
  #least: number | undefined = 0
  #take: (() => void) | undefined
  #fail: ((error: Error) => void) | undefined

  constructor(url: string) {
    this.#port = Number(new URL(url).port)
  }

  /** Sends a request and reads its response. Rejects if the connection ends before that. */
  send({ head, body, isHead }: RawRequest): Promise<RawResponse> {
    return new Promise((resolve, reject) => {
      this.#fail = reject
      this.#take = () => {
        const response = this.#read(isHead)
        if (!response) return
        this.#take = this.#fail = undefined
        if (response.headers.some(([name, value]) => name === 'connection' && value === 'close')) this.close()
        resolve(response)
      }
      this.#open().write(head + body, 'latin1')
    })
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
    this.#received = ''
    this.#pieces = []
    this.#least = 0
  }

  #open(): Socket {
    if (this.#socket) return this.#socket
    const socket = connect(this.#port, '127.0.0.1').setEncoding('latin1')
    const ended = (error?: Error): void => {
      if (this.#socket !== socket) return
      this.close()
      this.#fail?.(error ?? new Error('the server closed the connection'))
    }
    let length = 0
    let tail = ''
    socket.on('data', (text: string) => {
      if (this.#socket !== socket) return
      if (this.#pieces.length === 0) length = this.#received.length
      this.#pieces.push(text)
      length += text.length
      tail = (tail + text).slice(-lastChunk.length)
      if (this.#least === undefined ? tail === lastChunk : length >= this.#least) this.#take?.()
    })
    socket.once('error', ended)
    socket.once('close', () => ended())
    this.#socket = socket
    return socket
  }

  #read(isHead: boolean): RawResponse | undefined {
    this.#received += this.#pieces.join('')
    this.#pieces = []
    this.#least = 0
    const end = this.#received.indexOf(headEnd)
    if (end < 0) return undefined
    const [statusLine = '', ...lines] = this.#received.slice(0, end).split('\r\n')
    const status = Number(statusLine.split(' ')[1])
    const headers = lines.map((line): readonly [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    })
    const start = end + headEnd.length
    const bodiless = isHead || status === 204 || status === 304
    const length = headers.find(([name]) => name === 'content-length')?.[1]
    if (headers.some(([name, value]) => name === 'transfer-encoding' && value === 'chunked') && !bodiless) {
      this.#least = undefined
      return this.#readChunks(status, headers, start)
    }
    // A response without a length has no body: Node's response to an invalid request.
    const stop = start + (bodiless ? 0 : Number(length ?? 0))
    if (this.#received.length < stop) {
      this.#least = stop
      return undefined
    }
    const body = this.#received.slice(start, stop)
    this.#received = this.#received.slice(stop)
    return { status, headers, body }
  }

  #readChunks(status: number, headers: RawResponse['headers'], start: number): RawResponse | undefined {
    let body = ''
    for (let at = start; ;) {
      const lineEnd = this.#received.indexOf('\r\n', at)
      if (lineEnd < 0) return undefined
      const from = lineEnd + 2
      const to = from + Number.parseInt(this.#received.slice(at, lineEnd), 16)
      if (this.#received.length < to + 2) return undefined
      body += this.#received.slice(from, to)
      at = to + 2
      if (to > from) continue
      this.#received = this.#received.slice(at)
      this.#least = 0
      return { status, headers, body }
    }
  }
}
