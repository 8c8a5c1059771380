// One folder of a bucket: its files, and everything that can be done with them.
import { useEffect, useRef, useState } from 'preact/hooks'
import { serviceRole, type Viewer } from '../../api.ts'
import { FormDialog } from '../../forms.tsx'
import { Badge, Button, Confirm, Empty, Field, Loading, Problem, useLoaded } from '../../parts.tsx'
import { go, href, useRoute } from '../../router.ts'
import { bytesText, Time, toggled } from '../../values.tsx'
import { isSameViewer, viewerLabel } from '../../viewer.tsx'
import { Download } from './download.tsx'
import { LinkDialog } from './link-dialog.tsx'
import { PolicyTemplates } from './policy-templates.tsx'
import { PreviewDialog } from './preview.tsx'
import { isFolder, listFolder, moveFile, nameIn, pageSize, remove, type Entry, type Place } from './storage.ts'
import { startUpload, useUploads } from './uploads.ts'

type FolderProps = Place & { readonly viewer: Viewer }

/** Entries as the viewer sees them, and those that policies hide. */
type Listed = Entry & { readonly isHidden: boolean }

const entryKey = ({ name, id }: Entry): string => `${id ?? ''}/${name}`

export function Folder({ viewer, bucket, folder }: FolderProps) {
  const { query } = useRoute()
  const place = { bucket, folder }
  const page = Math.max(1, Number(query.get('page') ?? 1) || 1)
  const search = query.get('search') ?? ''
  const showsHidden = query.has('hidden') && !isSameViewer(viewer, serviceRole)
  const { value, error, reload } = useLoaded<readonly Listed[]>(
    async (signal) => {
      const list = (as: Viewer): Promise<readonly Entry[]> => listFolder(as, place, { search, page, signal })
      const [seen, all] = await Promise.all([list(viewer), showsHidden ? list(serviceRole) : undefined])
      const keys = new Set(seen.map(entryKey))
      return (all ?? seen).map((entry) => ({ ...entry, isHidden: !keys.has(entryKey(entry)) }))
    },
    [viewer, bucket, folder, search, page, showsHidden],
  )
  useReloadAfterUploads(place, reload)
  const change = (changes: Readonly<Record<string, string>>): void => {
    const next = new URLSearchParams(query)
    for (const [name, text] of Object.entries(changes)) {
      if (text === '') next.delete(name)
      else next.set(name, text)
    }
    go(['files', bucket, ...segmentsOf(folder)], next, { replace: true })
  }
  const upload = (files: Iterable<File>): void => {
    for (const file of files) startUpload({ viewer, bucket, name: nameIn(place, file.name), file, isUpsert: false })
  }
  const drop = useDrop(upload)
  return (
    <div class={drop.isOver ? 'drop over' : 'drop'} {...drop.handlers}>
      <Path {...place} />
      <Tools
        place={place}
        search={search}
        showsHidden={query.has('hidden')}
        viewer={viewer}
        onChange={change}
        onUpload={upload}
      />
      <Problem error={error} />
      {value ? (
        <Entries
          key={`${bucket}/${folder}`}
          entries={value}
          place={place}
          viewer={viewer}
          search={search}
          onChanged={reload}
        />
      ) : (
        error === undefined && <Loading />
      )}
      {(page > 1 || value?.length === pageSize) && (
        <nav class="bar" aria-label="Pages of files">
          <Button isDisabled={page <= 1} onClick={() => change({ page: String(page - 1) })}>
            Previous
          </Button>
          <span class="faint">page {page}</span>
          <Button isDisabled={value?.length !== pageSize} onClick={() => change({ page: String(page + 1) })}>
            Next
          </Button>
        </nav>
      )}
    </div>
  )
}

const segmentsOf = (folder: string): readonly string[] => folder.split('/').filter((segment) => segment !== '')

/** Loads the folder again when an upload into it is done. */
function useReloadAfterUploads({ bucket, folder }: Place, reload: () => void): void {
  const done = useUploads().filter(
    ({ state, bucket: target, name }) =>
      state === 'done' && target === bucket && name.startsWith(folder === '' ? '' : `${folder}/`),
  ).length
  const before = useRef(done)
  useEffect(() => {
    if (done > before.current) reload()
    before.current = done
  }, [done])
}

/** Files that are dropped somewhere. */
function useDrop(onDrop: (files: Iterable<File>) => void) {
  const [isOver, setOver] = useState(false)
  return {
    isOver,
    handlers: {
      onDragOver: (event: DragEvent) => {
        if (event.dataTransfer?.types.includes('Files') !== true) return
        event.preventDefault()
        setOver(true)
      },
      onDragLeave: (event: DragEvent) => {
        const { currentTarget, relatedTarget } = event
        if (currentTarget instanceof Node && relatedTarget instanceof Node && currentTarget.contains(relatedTarget))
          return
        setOver(false)
      },
      onDrop: (event: DragEvent) => {
        event.preventDefault()
        setOver(false)
        onDrop(event.dataTransfer?.files ?? [])
      },
    },
  }
}

function Path({ bucket, folder }: Place) {
  const segments = segmentsOf(folder)
  return (
    <nav aria-label="Folder">
      <a href={href(['files'])}>Files</a> <span class="faint">/</span>{' '}
      <h1 class="path">
        <a href={href(['files', bucket])}>{bucket}</a>
        {segments.map((name, index) => (
          <span key={index}>
            <span class="faint"> / </span>
            <a href={href(['files', bucket, ...segments.slice(0, index + 1)])}>{name}</a>
          </span>
        ))}
      </h1>
    </nav>
  )
}

type ToolsProps = {
  readonly place: Place
  readonly search: string
  readonly showsHidden: boolean
  readonly viewer: Viewer
  readonly onChange: (changes: Readonly<Record<string, string>>) => void
  readonly onUpload: (files: Iterable<File>) => void
}

function Tools({ place, search, showsHidden, viewer, onChange, onUpload }: ToolsProps) {
  const input = useRef<HTMLInputElement>(null)
  const [opened, open] = useState<'folder' | 'policies'>()
  return (
    <div class="bar">
      <input
        type="search"
        aria-label="Names that begin with"
        placeholder="Names that begin with …"
        value={search}
        onChange={({ currentTarget }) => onChange({ search: currentTarget.value, page: '' })}
      />
      {!isSameViewer(viewer, serviceRole) && (
        <label>
          <input
            type="checkbox"
            checked={showsHidden}
            onChange={({ currentTarget }) => onChange({ hidden: currentTarget.checked ? 'shown' : '' })}
          />{' '}
          Show what policies hide
        </label>
      )}
      <span class="grow" />
      <Button onClick={() => open('policies')}>Policies</Button>
      <Button onClick={() => open('folder')}>New folder</Button>
      <Button kind="primary" onClick={() => input.current?.click()}>
        Upload
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={({ currentTarget }) => {
          onUpload(currentTarget.files ?? [])
          currentTarget.value = ''
        }}
      />
      {opened === 'folder' && <FolderDialog place={place} onClose={() => open(undefined)} />}
      {opened === 'policies' && <PolicyTemplates bucket={place.bucket} onClose={() => open(undefined)} />}
    </div>
  )
}

function FolderDialog({ place: { bucket, folder }, onClose }: { readonly place: Place; readonly onClose: () => void }) {
  const [name, setName] = useState('')
  return (
    <FormDialog
      title="New folder"
      action="Open"
      onSubmit={() => {
        go(['files', bucket, ...segmentsOf(folder), ...segmentsOf(name)])
        return Promise.resolve()
      }}
      onClose={onClose}
    >
      <Field label="Name">
        <input required value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </Field>
      <p class="faint small">Folders are parts of the names of files: it exists with the first file that you upload.</p>
    </FormDialog>
  )
}

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

function Entries({ entries, place, viewer, search, onChanged }: EntriesProps) {
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
      <div class="table">
        <table>
          <thead>
            <tr>
              <th scope="col">
                <input
                  type="checkbox"
                  aria-label="Choose all"
                  checked={selected.length === entries.length}
                  onChange={({ currentTarget }) =>
                    setChosen(new Set(currentTarget.checked ? entries.map(entryKey) : []))
                  }
                />
              </th>
              <th scope="col">Name</th>
              <th scope="col">Size</th>
              <th scope="col">Type</th>
              <th scope="col">Changed</th>
              <th scope="col">Actions</th>
            </tr>
          </thead>
          <tbody>
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
          </tbody>
        </table>
      </div>
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
      <Field label="New name, with its folders">
        <input value={target} onInput={({ currentTarget }) => setTarget(currentTarget.value)} />
      </Field>
    </FormDialog>
  )
}
