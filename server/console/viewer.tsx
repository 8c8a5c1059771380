// As whom one looks: chosen in the header, and used by all pages that read or change rows and files.
import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { jsonAs, serviceRole, type Viewer } from './api.ts'
import { useSession } from './session.tsx'
import { Dialog, Problem } from './parts.tsx'

type Choice = { readonly viewer: Viewer; readonly choose: (viewer: Viewer) => void }

const Context = createContext<Choice | undefined>(undefined)
export const ViewerProvider = Context.Provider

/** The chosen viewer, and how to choose another. */
export function useViewer(): Choice {
  const choice = useContext(Context)
  if (!choice) throw new Error('useViewer needs a ViewerProvider')
  return choice
}

/** Whether two viewers are the same. */
export const isSameViewer = (a: Viewer, b: Viewer): boolean =>
  a.kind === 'role' ? b.kind === 'role' && a.role === b.role : b.kind === 'user' && a.id === b.id

export const viewerLabel = (viewer: Viewer): string => (viewer.kind === 'role' ? viewer.role : viewer.label)

type ListedUser = { readonly id: string; readonly email?: string | undefined; readonly phone?: string | undefined }

/** How people call an account. GoTrue sends empty texts for addresses that it does not have. */
export const nameOf = ({ id, email, phone }: ListedUser): string =>
  [email, phone].find((it) => it !== undefined && it !== '') ?? id

/** The button in the header that shows the viewer and opens the choice of another. */
export function ViewerPicker() {
  const { viewer } = useViewer()
  const [isOpen, setOpen] = useState(false)
  const isAll = isSameViewer(viewer, serviceRole)
  return (
    <>
      <button
        type="button"
        class={isAll ? 'viewer danger' : 'viewer'}
        onClick={() => setOpen(true)}
        title="As whom you look"
      >
        <span class="faint">as</span> <b>{viewerLabel(viewer)}</b>
      </button>
      {isOpen && <ViewerDialog onClose={() => setOpen(false)} />}
    </>
  )
}

function ViewerDialog({ onClose }: { readonly onClose: () => void }) {
  const { roles, services } = useSession()
  const { viewer, choose } = useViewer()
  const pick = (chosen: Viewer): void => {
    choose(chosen)
    onClose()
  }
  return (
    <Dialog title="Look as" onClose={onClose}>
      <h3>A role</h3>
      <div class="choices">
        {roles.map((role) => (
          <button
            type="button"
            key={role}
            aria-pressed={isSameViewer(viewer, { kind: 'role', role })}
            onClick={() => pick({ kind: 'role', role })}
          >
            {role}
            {role === 'service_role' && <small>bypasses all policies</small>}
          </button>
        ))}
      </div>
      {(services.includes('auth') || services.includes('auth-v1')) && <UserChoice onPick={pick} />}
    </Dialog>
  )
}

function UserChoice({ onPick }: { readonly onPick: (viewer: Viewer) => void }) {
  const { viewer } = useViewer()
  const [text, setText] = useState('')
  const [users, setUsers] = useState<readonly ListedUser[]>()
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const ending = new AbortController()
    const timer = setTimeout(() => {
      const filter = text === '' ? '' : `&filter=${encodeURIComponent(text)}`
      jsonAs<{ users: readonly ListedUser[] }>(serviceRole, `auth/v1/admin/users?per_page=20${filter}`, {
        signal: ending.signal,
      }).then(
        ({ users: found }) => setUsers(found),
        (reason: unknown) => ending.signal.aborted || setError(reason),
      )
    }, 150)
    return () => {
      clearTimeout(timer)
      ending.abort()
    }
  }, [text])
  return (
    <>
      <h3>A user</h3>
      <label class="field">
        <span>Search by address</span>
        <input type="search" value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
      </label>
      <Problem error={error} />
      <div class="choices">
        {users?.map(({ id, email, phone }) => (
          <button
            type="button"
            key={id}
            aria-pressed={viewer.kind === 'user' && viewer.id === id}
            onClick={() => onPick({ kind: 'user', id, label: nameOf({ id, email, phone }) })}
          >
            {nameOf({ id, email, phone })}
          </button>
        ))}
        {users?.length === 0 && <p class="faint">No user has such an address.</p>}
      </div>
    </>
  )
}
