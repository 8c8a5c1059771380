// Sends requests of a test, and returns the responses.

export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
  /** The `session` cookie as a client would send it back, if it was set. */
  readonly cookie: string | undefined
}

export type Call = (
  method: string,
  path: string,
  more?: { body?: unknown; headers?: Record<string, string> },
) => Promise<Answer>

/** Sends a body as JSON, unless it is already a string or bytes. */
export function caller(url: string): Call {
  return async (method, path, { body, headers } = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const [set] = response.headers.getSetCookie()
    return {
      status: response.status,
      headers: response.headers,
      text,
      body:
        response.headers.get('content-type')?.includes('json') && text !== ''
          ? (JSON.parse(text) as unknown)
          : undefined,
      cookie: set?.split(';')[0],
    }
  }
}
