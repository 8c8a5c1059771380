// One folder of a bucket: its files, and everything that can be done with them.
import { useEffect, useRef, useState } from 'preact/hooks'
import { serviceRole, type Viewer } from '../../api.ts'
import { FormDialog } from '../../forms.tsx'
import { Button, Loading, Problem, TextField, useLoaded } from '../../parts.tsx'
import { go, href, useRoute } from '../../router.ts'
import { isSameViewer } from '../../viewer.tsx'
import { PolicyTemplates } from './policy-templates.tsx'
import { listFolder, nameIn, pageSize, type Entry, segmentsOf, type Place } from './storage.ts'
import { startUpload, useUploads } from './uploads.ts'
import { Entries, entryKey, type Listed } from './entries.tsx'

type FolderProps = Place & { readonly viewer: Viewer }

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
      <TextField label="Name" required value={name} onText={setName} />
      <p class="faint small">Folders are parts of the names of files: it exists with the first file that you upload.</p>
    </FormDialog>
  )
}
