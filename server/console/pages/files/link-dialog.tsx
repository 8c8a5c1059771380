// Links to a file: signed ones for some time, and the address in a public bucket.
import { useState } from 'preact/hooks'
import type { Viewer } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Button, Dialog, Problem, Snippet, useLoaded } from '../../parts.tsx'
import { viewerLabel } from '../../viewer.tsx'
import { listBuckets, publicLink, signedLink } from './storage.ts'

const durations = [
  [600, '10 minutes'],
  [3600, '1 hour'],
  [86_400, '1 day'],
  [604_800, '1 week'],
  [31_536_000, '1 year'],
] as const

type LinkProps = {
  readonly viewer: Viewer
  readonly bucket: string
  readonly name: string
  readonly onClose: () => void
}

export function LinkDialog({ viewer, bucket, name, onClose }: LinkProps) {
  const [seconds, setSeconds] = useState(3600)
  const [link, setLink] = useState<string>()
  const { error, isBusy, run } = useAction()
  const { value: buckets } = useLoaded(() => listBuckets(viewer), [viewer])
  const isPublic = buckets?.find(({ id }) => id === bucket)?.public === true
  return (
    <Dialog title="Link to the file" onClose={onClose}>
      <p class="mono">{name}</p>
      {isPublic && (
        <>
          <h3>Public address</h3>
          <Snippet text={publicLink(bucket, name)} />
        </>
      )}
      <h3>Signed link</h3>
      <p class="faint small">Everyone who has the link reads the file until it expires. It cannot be taken back.</p>
      <div class="bar">
        <select
          aria-label="Valid for"
          value={seconds}
          onChange={({ currentTarget }) => {
            setSeconds(Number(currentTarget.value))
            setLink(undefined)
          }}
        >
          {durations.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
        <Button
          kind="primary"
          isBusy={isBusy}
          onClick={() => run(() => signedLink(viewer, bucket, name, seconds).then(setLink))}
        >
          Create as {viewerLabel(viewer)}
        </Button>
      </div>
      <Problem error={error} />
      {link !== undefined && <Snippet text={link} />}
    </Dialog>
  )
}
