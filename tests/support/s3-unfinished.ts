// Uploads in parts that are not finished: `s3rver` can neither list nor abort them, so the proxy in front of it does.
import type { IncomingMessage, ServerResponse } from 'node:http'

type Upload = { readonly key: string; initiated: Date; lastPart: Date | undefined }

/** Entries of a page of a list. S3 has 1000. */
const pageSize = 2

const element = (name: string, ...content: readonly string[]): string => `<${name}>${content.join('')}</${name}>`

export class UnfinishedUploads {
  readonly #bucket: string
  readonly #uploads = new Map<string, Upload>()
  /** Whether it answers requests to list them. */
  areListed = true

  constructor(bucket: string) {
    this.#bucket = bucket
  }

  get count(): number {
    return this.#uploads.size
  }

  /** Pretends that everything so far has happened that long ago, in milliseconds. */
  age(milliseconds: number): void {
    const earlier = (date: Date): Date => new Date(date.getTime() - milliseconds)
    for (const upload of this.#uploads.values()) {
      upload.initiated = earlier(upload.initiated)
      upload.lastPart &&= earlier(upload.lastPart)
    }
  }

  /** Pretends that an upload has begun without ever being continued, as after the end of a process. */
  leave(id: string, key: string): void {
    this.#uploads.set(id, { key, initiated: new Date(), lastPart: undefined })
  }

  /** Notes what a response of the server behind says of an upload. */
  note(request: IncomingMessage, response: IncomingMessage): void {
    if ((response.statusCode ?? 500) >= 300) return
    const { path, query } = partsOf(request)
    const id = query.get('uploadId')
    if (request.method === 'POST' && query.has('uploads')) {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => this.leave(/<UploadId>([^<]*)/.exec(text)?.[1] ?? '', this.#keyOf(path)))
    } else if (request.method === 'POST' && id !== null) this.#uploads.delete(id)
    else if (request.method === 'PUT' && id !== null) {
      const upload = this.#uploads.get(id)
      if (upload) upload.lastPart = new Date()
    }
  }

  /** Answers requests to list uploads and their parts, and to abort an upload; returns whether it is one of these. */
  answer(request: IncomingMessage, response: ServerResponse): boolean {
    const { path, query } = partsOf(request)
    const id = query.get('uploadId')
    if (request.method === 'GET' && query.has('uploads') && this.areListed) {
      send(response, 200, this.#list(query.get('prefix') ?? '', query.get('upload-id-marker')))
      return true
    }
    if (id === null || !['GET', 'DELETE'].includes(request.method ?? '')) return false
    const upload = this.#uploads.get(id)
    if (upload?.key !== this.#keyOf(path)) send(response, 404, element('Error', element('Code', 'NoSuchUpload')))
    else if (request.method === 'GET') send(response, 200, listOfParts(upload))
    else {
      this.#uploads.delete(id)
      send(response, 204, '')
    }
    return true
  }

  #list(prefix: string, after: string | null): string {
    const all = [...this.#uploads].filter(([, { key }]) => key.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1))
    const following = all.filter(([id]) => after === null || id > after)
    const page = following.slice(0, pageSize)
    const [lastId, last] = page.at(-1) ?? []
    return element(
      'ListMultipartUploadsResult',
      element('IsTruncated', String(following.length > pageSize)),
      last && lastId !== undefined ? element('NextKeyMarker', last.key) + element('NextUploadIdMarker', lastId) : '',
      ...page.map(([id, { key, initiated }]) =>
        element('Upload', element('Key', key), element('UploadId', id), element('Initiated', initiated.toISOString())),
      ),
    )
  }

  /** `/bucket/key` -> `key` */
  #keyOf(path: string): string {
    return path.slice(this.#bucket.length + 2)
  }
}

function partsOf({ url = '' }: IncomingMessage): { readonly path: string; readonly query: URLSearchParams } {
  const [path = '', query = ''] = url.split('?')
  return { path, query: new URLSearchParams(query) }
}

const listOfParts = ({ lastPart }: Upload): string =>
  element(
    'ListPartsResult',
    element('IsTruncated', 'false'),
    lastPart ? element('Part', element('PartNumber', '1'), element('LastModified', lastPart.toISOString())) : '',
  )

function send(response: ServerResponse, status: number, xml: string): void {
  response.writeHead(status, { 'Content-Type': 'application/xml' })
  response.end(xml)
}
