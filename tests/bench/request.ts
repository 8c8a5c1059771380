// Requests as the load generators send them.

export type BenchRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** Path relative to the server's mount path: `/classification_runs?id=eq.…`. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** The request as sent over the wire: both servers get the same bytes except for mount path and port. */
export function rawRequest({ method, path, headers, body }: BenchRequest, url: URL): string {
  const all: Record<string, string> = { Host: url.host, ...headers }
  if (body !== undefined) all['Content-Length'] = String(Buffer.byteLength(body))
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${mountPath(url)}${path} HTTP/1.1`, ...lines, '', body ?? ''].join('\r\n')
}

/** The path of a server's address, without a trailing slash. */
export const mountPath = (url: URL): string => (url.pathname === '/' ? '' : url.pathname)

/** The address of a path relative to the mount path. */
export const resource = (url: URL, path: string): string => url.origin + mountPath(url) + path

export type Answer = {
  readonly status: number
  readonly contentType: string | null
  readonly contentRange: string | null
  readonly text: string
}

/** Sends one request, to check its response. */
export async function send({ method, path, headers, body }: BenchRequest, url: URL): Promise<Answer> {
  const response = await fetch(resource(url, path), {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  return {
    status: response.status,
    contentType: response.headers.get('content-type'),
    contentRange: response.headers.get('content-range'),
    text: await response.text(),
  }
}
