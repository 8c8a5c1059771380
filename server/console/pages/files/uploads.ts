// Uploads, which go on while people look at other pages. Large files are uploaded in parts, and go on after an interruption.
import { useEffect, useState } from 'preact/hooks'
import type { Upload as TusUpload } from 'tus-js-client'
import { ApiProblem, noteChange, viewerToken, type Viewer } from '../../api.ts'
import { resumableUrl, typeOf, uploadAtOnce } from './storage.ts'

export type Upload = {
  readonly id: number
  readonly viewer: Viewer
  readonly bucket: string
  readonly name: string
  readonly file: File
  readonly isUpsert: boolean
  readonly state: 'running' | 'done' | 'failed'
  /** Bytes that the server has. */
  readonly sent: number
  readonly error: unknown
}

/** Bytes of a part, and of the largest file that is uploaded in one request. Supabase wants exactly these. */
const partSize = 6 * 1024 * 1024

/** Milliseconds before a part is sent again. */
const retryDelays = [0, 1000, 3000, 5000, 10_000]

let uploads: readonly Upload[] = []
let lastId = 0
const cancellations = new Map<number, () => void>()
const listeners = new Set<() => void>()

function set(next: readonly Upload[]): void {
  uploads = next
  for (const listener of listeners) listener()
}

const change = (id: number, changes: Partial<Upload>): void =>
  set(uploads.map((upload) => (upload.id === id ? { ...upload, ...changes } : upload)))

/** All uploads of this tab, newest first. */
export function useUploads(): readonly Upload[] {
  const [shown, setShown] = useState(uploads)
  useEffect(() => {
    const listener = (): void => setShown(uploads)
    listeners.add(listener)
    listener()
    return () => listeners.delete(listener)
  }, [])
  return shown
}

export type NewUpload = Pick<Upload, 'viewer' | 'bucket' | 'name' | 'file' | 'isUpsert'>

export function startUpload(wanted: NewUpload): void {
  const id = ++lastId
  const upload: Upload = { ...wanted, id, state: 'running', sent: 0, error: undefined }
  set([upload, ...uploads])
  const run = wanted.file.size > partSize ? uploadInParts : uploadWhole
  run(upload).then(
    () => change(id, { state: 'done', sent: wanted.file.size }),
    (error: unknown) => change(id, { state: 'failed', error }),
  )
}

/** Cancels an upload if it is running, and forgets it. */
export function dismiss({ id }: Upload): void {
  set(uploads.filter((upload) => upload.id !== id))
  cancellations.get(id)?.()
  cancellations.delete(id)
}

/** Tries a failed upload again. */
export function retry(upload: Upload, isUpsert: boolean): void {
  dismiss(upload)
  startUpload({ ...upload, isUpsert })
}

async function uploadWhole({ id, viewer, bucket, name, file, isUpsert }: Upload): Promise<void> {
  const ending = new AbortController()
  cancellations.set(id, () => ending.abort())
  await uploadAtOnce(viewer, bucket, name, file, { isUpsert, signal: ending.signal })
}

/** https://tus.io/protocols/resumable-upload */
async function uploadInParts(upload: Upload): Promise<void> {
  const { id, viewer, bucket, name, file, isUpsert } = upload
  // Only large files need the library.
  const { Upload: Tus } = await import('tus-js-client')
  await new Promise<void>((resolve, reject) => {
    const tus = new Tus(file, {
      endpoint: resumableUrl,
      chunkSize: partSize,
      retryDelays,
      uploadDataDuringCreation: true,
      removeFingerprintOnSuccess: true,
      // The same file, chosen again for the same place, goes on where it was interrupted.
      fingerprint: () =>
        Promise.resolve(['rowhouse', JSON.stringify([viewer, bucket, name, file.size, file.lastModified])].join(':')),
      metadata: { bucketName: bucket, objectName: name, contentType: typeOf(file) },
      headers: { 'x-upsert': String(isUpsert) },
      // Tokens are valid for minutes only.
      onBeforeRequest: async (request) => {
        if (request.getMethod() === 'POST') await noteChange(viewer, 'POST', `storage/v1/object/${bucket}/${name}`)
        request.setHeader('Authorization', `Bearer ${await viewerToken(viewer)}`)
      },
      onProgress: (sent) => change(id, { sent }),
      onSuccess: () => resolve(),
      onError: (error) => reject(problemOfTus(error)),
    })
    cancellations.set(id, () => void tus.abort(true).catch(() => undefined))
    void start(tus)
  })
}

async function start(tus: TusUpload): Promise<void> {
  const [earlier] = await tus.findPreviousUploads()
  if (earlier) tus.resumeFromPreviousUpload(earlier)
  tus.start()
}

type TusFailure = Error & {
  readonly originalResponse?: { getStatus: () => number; getBody: () => string } | null
}

/** The server's own words, which the library puts into a longer message. */
function problemOfTus(error: TusFailure): Error {
  const { originalResponse: response } = error
  if (!response) return error
  return new ApiProblem(response.getStatus(), { message: response.getBody() }, error.message)
}
