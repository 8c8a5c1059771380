// Uploads with their progress.
import { ApiProblem } from '../../api.ts'
import { Badge, Button, Problem } from '../../parts.tsx'
import { bytesText } from '../../values.tsx'
import { viewerLabel } from '../../viewer.tsx'
import { dismiss, retry, useUploads, type Upload } from './uploads.ts'

export function UploadList() {
  const uploads = useUploads()
  if (uploads.length === 0) return null
  const finished = uploads.filter(({ state }) => state === 'done')
  return (
    <section class="card uploads" aria-label="Uploads">
      <div class="bar">
        <h2>Uploads</h2>
        <span class="grow" />
        {finished.length > 0 && (
          <Button
            onClick={() => {
              for (const upload of finished) dismiss(upload)
            }}
          >
            Clear finished
          </Button>
        )}
      </div>
      <ul class="rows">
        {uploads.map((upload) => (
          <li key={upload.id}>
            <Line upload={upload} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Line({ upload }: { readonly upload: Upload }) {
  const { bucket, name, file, state, sent, error, viewer } = upload
  return (
    <>
      <span class="grow">
        {bucket}/{name}{' '}
        <small class="faint">
          {bytesText(file.size)}, as {viewerLabel(viewer)}
        </small>
        {state === 'running' && <progress aria-label={`Progress of ${name}`} max={file.size} value={sent} />}
        {state === 'failed' && <Problem error={error} />}
      </span>
      {state === 'done' && <Badge kind="good">done</Badge>}
      {state === 'failed' && (
        <>
          <Button onClick={() => retry(upload, upload.isUpsert)}>Try again</Button>
          {isConflict(error) && <Button onClick={() => retry(upload, true)}>Replace the file</Button>}
        </>
      )}
      <Button onClick={() => dismiss(upload)}>{state === 'running' ? 'Cancel' : 'Dismiss'}</Button>
    </>
  )
}

/** Storage sends nearly all errors with the status 400. */
const isConflict = (error: unknown): boolean =>
  error instanceof ApiProblem && (error.code === 'KeyAlreadyExists' || error.status === 409)
