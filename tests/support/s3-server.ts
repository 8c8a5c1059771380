// An S3 server with a proxy in front of it that can fail.
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request as send, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import type { Test } from 'tap'
import { UnfinishedUploads } from './s3-unfinished.ts'

/**
 * What the proxy does with a request.
 *
 * - `pass`: sends it to the server
 * - `refuse`: 503, as S3 does under load
 * - `cut response`: closes the connection in the middle of the response's body
 * - `cut request`: closes the connection as soon as the request's body arrives
 * - `hang`: never responds
 */
export type ProxyMode = 'pass' | 'refuse' | 'cut response' | 'cut request' | 'hang'

export type S3Server = {
  readonly bucket: string
  readonly endpoint: string
  /** Decides on each request; by default all pass. */
  decide: (request: IncomingMessage) => ProxyMode
  /** Whether it copies parts of uploads, which the server behind it does not. */
  copiesParts: boolean
  /** `GET /path`, in order. */
  readonly seen: string[]
  /** The keys of all objects. */
  readonly keys: () => Promise<readonly string[]>
  /** Uploads in parts that are neither complete nor aborted. */
  readonly unfinished: UnfinishedUploads
  readonly stop: () => Promise<void>
}

/** The credentials of the server, for the environment. */
export const s3Credentials = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' }

/** Settings of a service that keeps its objects there. */
export const s3Environment = ({ bucket, endpoint }: Pick<S3Server, 'bucket' | 'endpoint'>) => ({
  ...s3Credentials,
  STORAGE_BACKEND: 's3',
  STORAGE_S3_BUCKET: bucket,
  STORAGE_S3_ENDPOINT: endpoint,
  STORAGE_S3_REGION: 'us-east-1',
})

const portOf = (server: Server): number => (server.address() as AddressInfo).port

export async function startS3(t: Pick<Test, 'teardown'>, bucket = 'rowhouse-test'): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'rowhouse-s3-'))
  const behind = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket, configs: [] }],
  })
  const { port: target } = await behind.run()
  const proxy = createServer((request, response) => {
    server.seen.push(`${request.method} ${request.url}`)
    answer(request, response).catch(() => response.destroy())
  })
  // Longer than a test takes: a request on a connection that is being closed fails without having been seen.
  proxy.keepAliveTimeout = 300_000
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const unfinished = new UnfinishedUploads(bucket)
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const mode = server.decide(request)
    if (mode === 'hang') return
    if (mode === 'refuse') {
      request.resume()
      response.writeHead(503, { 'Content-Type': 'application/xml' })
      response.end('<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>')
      return
    }
    if (mode === 'cut request') {
      await once(request, 'data')
      request.destroy()
      return
    }
    if (unfinished.answer(request, response)) return
    if (server.copiesParts && isPartCopy(request)) return copyPart(target, request, response)
    const forwarded = send({
      host: '127.0.0.1',
      port: target,
      // A connection that is kept may have been closed by the server.
      agent: false,
      method: request.method,
      path: request.url,
      headers: request.headers,
    })
    forwarded.on('error', () => response.destroy())
    // Otherwise the server behind would wait for the rest of a request that has broken off.
    response.on('close', () => forwarded.destroy())
    request.pipe(forwarded)
    const [received] = (await once(forwarded, 'response')) as [IncomingMessage]
    unfinished.note(request, received)
    response.writeHead(received.statusCode ?? 500, received.headers)
    if (mode === 'pass') {
      received.pipe(response)
      return
    }
    const [first] = (await once(received, 'data')) as [Buffer]
    response.write(first.subarray(0, Math.ceil(first.length / 2)), () => response.destroy())
    received.destroy()
  }
  const stop = async (): Promise<void> => {
    proxy.closeAllConnections()
    proxy.close()
    await behind.close().catch(() => undefined)
    await rm(directory, { recursive: true, force: true })
  }
  const server: S3Server = {
    bucket,
    endpoint: `http://127.0.0.1:${portOf(proxy)}`,
    decide: () => 'pass',
    copiesParts: false,
    seen: [],
    keys: async () => {
      const listed = await fetch(`http://127.0.0.1:${target}/${bucket}?list-type=2&max-keys=1000`)
      return [...(await listed.text()).matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => key)
    },
    unfinished,
    stop,
  }
  t.teardown(stop)
  return server
}

const isPartCopy = (request: IncomingMessage): boolean =>
  request.method === 'PUT' &&
  request.headers['x-amz-copy-source'] !== undefined &&
  (request.url ?? '').includes('uploadId=')

/** Reads the object and uploads it as a part. The server accepts requests without a signature. */
async function copyPart(target: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const origin = `http://127.0.0.1:${target}`
  const source = await fetch(`${origin}/${String(request.headers['x-amz-copy-source'])}`)
  const part = await fetch(`${origin}${request.url}`, { method: 'PUT', body: await source.arrayBuffer() })
  response.writeHead(part.status, { 'Content-Type': 'application/xml' })
  const tag = (part.headers.get('etag') ?? '').replaceAll('"', '&quot;')
  response.end(
    `<CopyPartResult><ETag>${tag}</ETag><LastModified>2026-01-01T00:00:00.000Z</LastModified></CopyPartResult>`,
  )
}
