// Buckets with their limits.
import { useState } from 'preact/hooks'
import { serviceRole, type Viewer } from '../../api.ts'
import { Confirm, FormDialog } from '../../forms.tsx'
import { Badge, Button, Empty, Field, Loading, Problem, Table, TextField, useLoaded } from '../../parts.tsx'
import { LookAsServiceRole } from '../../read-problem.tsx'
import { go, href } from '../../router.ts'
import { bytesText, Time } from '../../values.tsx'
import { isSameViewer, viewerLabel } from '../../viewer.tsx'
import { PolicyTemplates } from './policy-templates.tsx'
import {
  changeBucket,
  createBucket,
  deleteBucket,
  emptyBucket,
  listBuckets,
  type Bucket,
  type BucketSettings,
} from './storage.ts'

type Opened =
  | { readonly kind: 'create' }
  | { readonly kind: 'edit' | 'empty' | 'delete' | 'policies'; readonly bucket: Bucket }
  | undefined

export function BucketList({ viewer }: { readonly viewer: Viewer }) {
  const { value, error, reload } = useLoaded(() => listBuckets(viewer), [viewer])
  const [opened, open] = useState<Opened>()
  return (
    <>
      <div class="bar">
        <h1>Files</h1>
        <span class="grow" />
        <Button kind="primary" onClick={() => open({ kind: 'create' })}>
          Create bucket
        </Button>
      </div>
      <Problem error={error} />
      {value ? <Buckets buckets={value} viewer={viewer} onOpen={open} /> : error === undefined && <Loading />}
      <BucketDialogs opened={opened} viewer={viewer} onClose={() => open(undefined)} onChanged={reload} />
    </>
  )
}

type BucketsProps = {
  readonly buckets: readonly Bucket[]
  readonly viewer: Viewer
  readonly onOpen: (opened: Opened) => void
}

function Buckets({ buckets, viewer, onOpen }: BucketsProps) {
  if (buckets.length === 0) return <NoBuckets viewer={viewer} />
  return (
    <Table head={['Bucket', 'Files are', 'Largest file', 'Media types', 'Created', 'Actions']}>
      {buckets.map((bucket) => (
        <tr key={bucket.id}>
          <td>
            <a href={href(['files', bucket.id])}>{bucket.name}</a>
          </td>
          <td>
            <Badge
              kind={bucket.public ? 'warning' : 'plain'}
              title={bucket.public ? 'Everyone reads its files by their addresses.' : 'Policies decide.'}
            >
              {bucket.public ? 'public' : 'private'}
            </Badge>
          </td>
          <td>{bucket.file_size_limit === null ? "server's limit" : bytesText(bucket.file_size_limit)}</td>
          <td>{bucket.allowed_mime_types?.join(', ') ?? 'all'}</td>
          <td>
            <Time at={bucket.created_at} />
          </td>
          <td>
            <span class="bar tight">
              <Button onClick={() => onOpen({ kind: 'policies', bucket })}>Policies</Button>
              <Button onClick={() => onOpen({ kind: 'edit', bucket })}>Edit</Button>
              <Button onClick={() => onOpen({ kind: 'empty', bucket })}>Empty</Button>
              <Button kind="danger" onClick={() => onOpen({ kind: 'delete', bucket })}>
                Delete
              </Button>
            </span>
          </td>
        </tr>
      ))}
    </Table>
  )
}

function NoBuckets({ viewer }: { readonly viewer: Viewer }) {
  if (isSameViewer(viewer, serviceRole)) {
    return (
      <Empty title="There are no buckets yet">
        <p>A bucket holds files and folders. Create one, then decide with policies who reads and writes them.</p>
      </Empty>
    )
  }
  return (
    <Empty title={`${viewerLabel(viewer)} sees no buckets`}>
      <p>
        Buckets are rows of <code>storage.buckets</code>: without a policy, only <code>service_role</code> sees and
        creates them.
      </p>
      <LookAsServiceRole />
    </Empty>
  )
}

type DialogsProps = {
  readonly opened: Opened
  readonly viewer: Viewer
  readonly onClose: () => void
  readonly onChanged: () => void
}

function BucketDialogs({ opened, viewer, onClose, onChanged }: DialogsProps) {
  switch (opened?.kind) {
    case undefined:
      return null
    case 'create':
      return <CreateDialog viewer={viewer} onClose={onClose} />
    case 'edit':
      return <EditDialog viewer={viewer} bucket={opened.bucket} onClose={onClose} onChanged={onChanged} />
    case 'policies':
      return <PolicyTemplates bucket={opened.bucket.id} onClose={onClose} />
    case 'empty':
      return (
        <Confirm
          title={`Empty ${opened.bucket.name}?`}
          action="Delete all files"
          typed={opened.bucket.name}
          onConfirm={() => emptyBucket(viewer, opened.bucket.id)}
          onClose={onClose}
        >
          <p>All files of the bucket are deleted. Only service_role may do that. This cannot be undone.</p>
        </Confirm>
      )
    case 'delete':
      return (
        <Confirm
          title={`Delete ${opened.bucket.name}?`}
          action="Delete the bucket"
          typed={opened.bucket.name}
          onConfirm={() => deleteBucket(viewer, opened.bucket.id).then(onChanged)}
          onClose={onClose}
        >
          <p>Only an empty bucket can be deleted.</p>
        </Confirm>
      )
  }
}

function CreateDialog({ viewer, onClose }: { readonly viewer: Viewer; readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [draft, setDraft] = useState<Draft>({ isPublic: false, size: '', types: '' })
  const submit = async (): Promise<void> => {
    await createBucket(viewer, name, settingsOf(draft))
    go(['files', name])
  }
  return (
    <FormDialog title="Create bucket" action="Create" onSubmit={submit} onClose={onClose}>
      <p class="faint small">
        As <strong>{viewerLabel(viewer)}</strong>, chosen at the top.
      </p>
      <TextField label="Name" required maxLength={100} autocomplete="off" value={name} onText={setName} />
      <SettingsFields draft={draft} onChange={setDraft} />
    </FormDialog>
  )
}

type EditProps = Omit<DialogsProps, 'opened'> & { readonly bucket: Bucket }

function EditDialog({ viewer, bucket, onClose, onChanged }: EditProps) {
  const { public: isPublic, file_size_limit: size, allowed_mime_types: types } = bucket
  const [draft, setDraft] = useState<Draft>({
    isPublic,
    size: size === null ? '' : String(size),
    types: types?.join(', ') ?? '',
  })
  const submit = (): Promise<void> => changeBucket(viewer, bucket.id, settingsOf(draft)).then(onChanged)
  return (
    <FormDialog title={`Edit ${bucket.name}`} action="Save" onSubmit={submit} onClose={onClose}>
      <SettingsFields draft={draft} onChange={setDraft} />
    </FormDialog>
  )
}

/** The settings of a bucket as they are typed. */
type Draft = { readonly isPublic: boolean; readonly size: string; readonly types: string }

function settingsOf({ isPublic, size, types }: Draft): BucketSettings {
  const listed = types.split(/[\s,]+/).filter((type) => type !== '')
  return {
    public: isPublic,
    file_size_limit: size.trim() === '' ? null : size.replaceAll(' ', ''),
    allowed_mime_types: listed.length === 0 ? null : listed,
  }
}

type FieldsProps = { readonly draft: Draft; readonly onChange: (draft: Draft) => void }

const SettingsFields = ({ draft, onChange }: FieldsProps) => (
  <>
    <label>
      <input
        type="checkbox"
        checked={draft.isPublic}
        onChange={({ currentTarget }) => onChange({ ...draft, isPublic: currentTarget.checked })}
      />{' '}
      Public: everyone reads its files by their addresses
    </label>
    <Field label="Largest file">
      <input
        placeholder="5MB; empty: the limit of the server"
        value={draft.size}
        onInput={({ currentTarget }) => onChange({ ...draft, size: currentTarget.value })}
      />
    </Field>
    <Field label="Allowed media types">
      <input
        placeholder="image/*, application/pdf; empty: all"
        value={draft.types}
        onInput={({ currentTarget }) => onChange({ ...draft, types: currentTarget.value })}
      />
    </Field>
  </>
)
