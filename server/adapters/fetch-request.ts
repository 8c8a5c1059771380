// Adapts a request of the Fetch standard to the engine.
import type { BodyGate, BodyStream } from '../rest/request/body.ts'
import type { RestRequest } from '../rest/rest-request.ts'
import { FetchBodyStream, readFetchBody } from './fetch-body.ts'

export class FetchRequest implements RestRequest {
  readonly method: string
  readonly basePath: string
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  readonly source: Request
  /** The server manages its connections itself. */
  readonly isOpenEnded = false

  /** @param target path below the mount path, with the query string */
  constructor(source: Request, basePath: string, target: string) {
    this.method = source.method
    this.basePath = basePath
    this.target = target
    // Iteration yields lower-case names, and repeated headers as one entry joined by commas.
    this.headers = [...source.headers]
    this.source = source
  }

  get isGone(): boolean {
    return this.source.signal.aborted
  }

  get isAborted(): boolean {
    return this.source.signal.aborted
  }

  onGone(listener: () => void): () => void {
    const { signal } = this.source
    const onAbort = (): void => listener()
    signal.addEventListener('abort', onAbort, { once: true })
    return () => signal.removeEventListener('abort', onAbort)
  }

  header(name: string): string | undefined {
    return this.source.headers.get(name) ?? undefined
  }

  readBody(gate: BodyGate): Promise<Buffer> {
    return readFetchBody(this.source, gate)
  }

  streamBody(): BodyStream {
    return new FetchBodyStream(this.source)
  }
}

/** Path and query string of a URL, without the normalisation of a URL parser. */
export function targetOf(url: string): string {
  const path = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.indexOf('#', path)
  if (path < 0) return '/'
  return end < 0 ? url.slice(path) : url.slice(path, end)
}
