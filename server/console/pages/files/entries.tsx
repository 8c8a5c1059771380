// The entries of a folder: choosing, opening, moving and deleting them.
import { useState } from 'preact/hooks'
import { serviceRole, type Viewer } from '../../api.ts'
import { Confirm, FormDialog } from '../../forms.tsx'
import { Badge, Button, Empty, Table, TextField } from '../../parts.tsx'
import { href } from '../../router.ts'
import { bytesText, Time, toggled } from '../../values.tsx'
import { isSameViewer, viewerLabel } from '../../viewer.tsx'
import { Download } from './download.tsx'
import { LinkDialog } from './link-dialog.tsx'
import { PreviewDialog } from './preview.tsx'
import { isFolder, moveFile, nameIn, remove, type Entry, segmentsOf, type Place } from './storage.ts'

/** Entries as the viewer sees them, and those that policies hide. */
export type Listed = Entry & { readonly isHidden: boolean }

/** Distinguishes entries of a folder. */
export const entryKey = ({ name, id }: Entry): string => `${id ?? ''}/${name}`

type EntriesProps = {
  readonly entries: readonly Listed[]
  readonly place: Place
  readonly viewer: Viewer
  readonly search: string
  readonly onChanged: () => void
}

type Opened =
  | { readonly kind: 'preview' | 'link' | 'move'; readonly entry: Entry }
  | { readonly kind: 'delete'; readonly entries: readonly Entry[] }
  | undefined

export function Entries({ entries, place, viewer, search, onChanged }: EntriesProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [opened, open] = useState<Opened>()
  const selected = entries.filter((entry) => chosen.has(entryKey(entry)))
  const toggle = (entry: Entry): void => setChosen((before) => toggled(before, entryKey(entry)))
  if (entries.length === 0) return <NoEntries viewer={viewer} search={search} />
  return (
    <>
      {selected.length > 0 && (
        <div class="bar" role="status">
          {selected.length} chosen
          <Button kind="danger" onClick={() => open({ kind: 'delete', entries: selected })}>
            Delete
          </Button>
          <Button onClick={() => setChosen(new Set())}>Choose none</Button>
        </div>
      )}
      <Table
        head={[
          <input
            type="checkbox"
            aria-label="Choose all"
            checked={selected.length === entries.length}
            onChange={({ currentTarget }) => setChosen(new Set(currentTarget.checked ? entries.map(entryKey) : []))}
          />,
          'Name',
          'Size',
          'Type',
          'Changed',
          'Actions',
        ]}
      >
        {entries.map((entry) => (
          <Row
            key={entryKey(entry)}
            entry={entry}
            place={place}
            viewer={viewer}
            isChosen={chosen.has(entryKey(entry))}
            onToggle={() => toggle(entry)}
            onOpen={open}
          />
        ))}
      </Table>
      <EntryDialogs
        opened={opened}
        place={place}
        viewer={viewer}
        onClose={() => open(undefined)}
        onChanged={() => {
          setChosen(new Set())
          onChanged()
        }}
      />
    </>
  )
}

function NoEntries({ viewer, search }: { readonly viewer: Viewer; readonly search: string }) {
  return (
    <Empty title={search === '' ? 'There are no files here' : 'No name begins with that'}>
      {search === '' && <p>Drop files here, or press Upload.</p>}
      {!isSameViewer(viewer, serviceRole) && (
        <p>
          You see what {viewerLabel(viewer)} sees: policies may hide files, and a bucket without policies shows them to{' '}
          <code>service_role</code> only.
        </p>
      )}
    </Empty>
  )
}

type RowProps = {
  readonly entry: Listed
  readonly place: Place
  readonly viewer: Viewer
  readonly isChosen: boolean
  readonly onToggle: () => void
  readonly onOpen: (opened: Opened) => void
}

function Row({ entry, place, viewer, isChosen, onToggle, onOpen }: RowProps) {
  const { name, updated_at: at, metadata, isHidden } = entry
  return (
    <tr class={isHidden ? 'hidden-entry' : ''}>
      <td>
        <input type="checkbox" aria-label={`Choose ${name}`} checked={isChosen} onChange={onToggle} />
      </td>
      <td>
        {isFolder(entry) ? (
          <a href={href(['files', place.bucket, ...segmentsOf(place.folder), name])}>{name}/</a>
        ) : (
          <button type="button" class="link" onClick={() => onOpen({ kind: 'preview', entry })}>
            {name}
          </button>
        )}
        {isHidden && (
          <>
            {' '}
            <Badge kind="warning">hidden from {viewerLabel(viewer)}</Badge>
          </>
        )}
      </td>
      <td>{metadata?.size === undefined ? '' : bytesText(metadata.size)}</td>
      <td>{isFolder(entry) ? 'folder' : (metadata?.mimetype ?? '')}</td>
      <td>{at !== null && <Time at={at} />}</td>
      <td>
        <span class="bar tight">
          {!isFolder(entry) && (
            <>
              <Download viewer={viewer} bucket={place.bucket} name={nameIn(place, name)} />
              <Button onClick={() => onOpen({ kind: 'link', entry })}>Link</Button>
              <Button onClick={() => onOpen({ kind: 'move', entry })}>Move</Button>
            </>
          )}
          <Button kind="danger" onClick={() => onOpen({ kind: 'delete', entries: [entry] })}>
            Delete
          </Button>
        </span>
      </td>
    </tr>
  )
}

type EntryDialogsProps = {
  readonly opened: Opened
  readonly place: Place
  readonly viewer: Viewer
  readonly onClose: () => void
  readonly onChanged: () => void
}

function EntryDialogs({ opened, place, viewer, onClose, onChanged }: EntryDialogsProps) {
  const { bucket } = place
  switch (opened?.kind) {
    case undefined:
      return null
    case 'preview':
      return (
        <PreviewDialog
          viewer={viewer}
          bucket={bucket}
          name={nameIn(place, opened.entry.name)}
          type={opened.entry.metadata?.mimetype ?? ''}
          size={opened.entry.metadata?.size ?? 0}
          onClose={onClose}
        />
      )
    case 'link':
      return <LinkDialog viewer={viewer} bucket={bucket} name={nameIn(place, opened.entry.name)} onClose={onClose} />
    case 'move':
      return (
        <MoveDialog
          viewer={viewer}
          bucket={bucket}
          name={nameIn(place, opened.entry.name)}
          onClose={onClose}
          onMoved={onChanged}
        />
      )
    case 'delete':
      return (
        <Confirm
          title={opened.entries.length === 1 ? 'Delete it?' : `Delete ${opened.entries.length} entries?`}
          action="Delete"
          onConfirm={async () => {
            const count = await remove(viewer, place, opened.entries)
            onChanged()
            if (count === 0) throw new Error(`No policy lets ${viewerLabel(viewer)} delete any of it.`)
          }}
          onClose={onClose}
        >
          <ul>
            {opened.entries.slice(0, 10).map((entry) => (
              <li key={entryKey(entry)}>{isFolder(entry) ? `${entry.name}/ with everything in it` : entry.name}</li>
            ))}
            {opened.entries.length > 10 && <li>and {opened.entries.length - 10} more</li>}
          </ul>
          <p>This cannot be undone.</p>
        </Confirm>
      )
  }
}

type MoveProps = {
  readonly viewer: Viewer
  readonly bucket: string
  readonly name: string
  readonly onClose: () => void
  readonly onMoved: () => void
}

function MoveDialog({ viewer, bucket, name, onClose, onMoved }: MoveProps) {
  const [target, setTarget] = useState(name)
  return (
    <FormDialog
      title="Move or rename"
      action="Move"
      isDisabled={target === name || target === ''}
      onSubmit={() => moveFile(viewer, bucket, name, target).then(onMoved)}
      onClose={onClose}
    >
      <TextField label="New name, with its folders" value={target} onText={setTarget} />
    </FormDialog>
  )
}
