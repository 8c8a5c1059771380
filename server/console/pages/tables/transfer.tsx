// CSV and NDJSON, in and out, by the media types of the REST API.
import { useState } from 'preact/hooks'
import type { RelationDetails } from '../../../services/console/schema-protocol.ts'
import { ApiProblem, fetchAs, type Viewer } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Button, Dialog, Field, Problem } from '../../parts.tsx'
import type { Parameter } from '../../rest/filter.ts'
import { profile, readOf, relationPath, sendAs, totalOf, type Place } from '../../rest/relation.ts'
import { countText } from '../../values.tsx'

const formats = {
  csv: { label: 'CSV', type: 'text/csv' },
  ndjson: { label: 'NDJSON', type: 'application/x-ndjson' },
} as const

type Format = keyof typeof formats

/** Saves all rows that the filters match and the viewer sees. */
async function exportRows(
  viewer: Viewer,
  place: Place,
  parameters: readonly Parameter[],
  format: Format,
): Promise<void> {
  const all = parameters.filter(([name]) => name !== 'limit' && name !== 'offset')
  const response = await sendAs(viewer, readOf(place, all), [['Accept', formats[format].type]])
  const url = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = url
  link.download = `${place.name.replace(/[^\p{L}\p{N}_-]+/gu, '_')}.${format}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

type ExportProps = {
  readonly viewer: Viewer
  readonly place: Place
  readonly parameters: readonly Parameter[]
  readonly onError: (error: unknown) => void
}

export function ExportButtons({ viewer, place, parameters, onError }: ExportProps) {
  const [busy, setBusy] = useState<Format>()
  return (
    <>
      {(['csv', 'ndjson'] as const).map((format) => (
        <Button
          key={format}
          isBusy={busy === format}
          title="Save all rows of these filters, as this viewer sees them"
          onClick={() => {
            setBusy(format)
            exportRows(viewer, place, parameters, format)
              .catch(onError)
              .finally(() => setBusy(undefined))
          }}
        >
          {formats[format].label}
        </Button>
      ))}
    </>
  )
}

type ImportProps = {
  readonly viewer: Viewer
  readonly place: Place
  readonly relation: RelationDetails
  readonly onDone: () => void
  readonly onClose: () => void
}

const typeOf = ({ name }: File): string => {
  if (/\.csv$/i.test(name)) return formats.csv.type
  return /\.json$/i.test(name) ? 'application/json' : formats.ndjson.type
}

/** Sends a file as it is: all of its rows, or none. */
export function ImportDialog({ viewer, place, relation, onDone, onClose }: ImportProps) {
  const [file, setFile] = useState<File>()
  const [merges, setMerges] = useState(false)
  const { error, isBusy, run } = useAction()
  const [count, setCount] = useState<number>()
  const submit = async (): Promise<void> => {
    if (!file) return
    const prefer = ['return=minimal', 'count=exact', ...(merges ? ['resolution=merge-duplicates'] : [])].join(', ')
    const response = await fetchAs(viewer, relationPath(place), {
      method: 'POST',
      headers: { ...Object.fromEntries(profile(place, true)), 'Content-Type': typeOf(file), Prefer: prefer },
      body: file,
    })
    setCount(totalOf(response.headers.get('content-range')) ?? 0)
    onDone()
  }
  return (
    <Dialog title={`Import into ${relation.name}`} onClose={onClose}>
      {count === undefined ? (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            run(submit)
          }}
        >
          <p>All rows of the file are written in one transaction, as the viewer, or none of them.</p>
          <Field label="CSV, NDJSON or JSON">
            <input
              type="file"
              required
              accept=".csv,.ndjson,.jsonl,.json"
              onChange={({ currentTarget }) => setFile(currentTarget.files?.[0])}
            />
          </Field>
          {relation.primaryKey.length > 0 && (
            <label>
              <input
                type="checkbox"
                checked={merges}
                onChange={({ currentTarget }) => setMerges(currentTarget.checked)}
              />{' '}
              Replace rows with the same key
            </label>
          )}
          <Problem error={error} />
          {error instanceof ApiProblem && error.line !== null && <p>Line {error.line} of the file.</p>}
          <div class="actions">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" kind="primary" isBusy={isBusy}>
              Import
            </Button>
          </div>
        </form>
      ) : (
        <>
          <p role="status">
            {countText(count, 'row')} {count === 1 ? 'was' : 'were'} imported.
          </p>
          <div class="actions">
            <Button kind="primary" onClick={onClose}>
              Close
            </Button>
          </div>
        </>
      )}
    </Dialog>
  )
}
