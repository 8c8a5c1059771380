// Search, pages, and new accounts.
import { useEffect, useState } from 'preact/hooks'
import { FormDialog } from '../../forms.tsx'
import { Badge, Button, Empty, Loading, Problem, Table, TextField, useLoaded } from '../../parts.tsx'
import { go, href, routeOf, useRoute } from '../../router.ts'
import { Time } from '../../values.tsx'
import { nameOf } from '../../viewer.tsx'
import {
  administrator,
  createUser,
  fullName,
  inviteUser,
  isBanned,
  listUsers,
  pageSize,
  type User,
  type UserPage,
} from './users.ts'

type Opened = 'create' | 'invite' | undefined

export function UserList() {
  const { query } = useRoute()
  const filter = query.get('search') ?? ''
  const page = Math.max(1, Number(query.get('page') ?? 1) || 1)
  const isOldestFirst = query.get('order') === 'oldest'
  const [opened, open] = useState<Opened>()
  const { value, error, reload } = useLoaded(
    (signal) => listUsers({ filter, page, isOldestFirst }, signal),
    [filter, page, isOldestFirst],
  )
  const change = (changes: Readonly<Record<string, string>>, options = {}): void => {
    // That of the address: a search begins a moment after it was typed, when another condition may have been chosen.
    const next = new URLSearchParams(routeOf(location.hash).query)
    for (const [name, text] of Object.entries(changes)) {
      if (text === '') next.delete(name)
      else next.set(name, text)
    }
    go(['users'], next, options)
  }
  return (
    <>
      <div class="bar">
        <Search text={filter} onSearch={(text) => change({ search: text, page: '' }, { replace: true })} />
        <select
          aria-label="Order"
          value={isOldestFirst ? 'oldest' : ''}
          onChange={({ currentTarget }) => change({ order: currentTarget.value, page: '' })}
        >
          <option value="">Newest first</option>
          <option value="oldest">Oldest first</option>
        </select>
        <span class="grow" />
        <Button onClick={() => open('invite')}>Invite</Button>
        <Button kind="primary" onClick={() => open('create')}>
          Create user
        </Button>
      </div>
      <Problem error={error} />
      {value ? <Users found={value} filter={filter} /> : error === undefined && <Loading />}
      {value && value.total > pageSize && (
        <nav class="bar" aria-label="Pages of users">
          <Button isDisabled={page <= 1} onClick={() => change({ page: String(page - 1) })}>
            Previous
          </Button>
          <span class="faint">
            {(page - 1) * pageSize + 1}–{Math.min(page * pageSize, value.total)} of {value.total.toLocaleString('en')}
          </span>
          <Button isDisabled={page * pageSize >= value.total} onClick={() => change({ page: String(page + 1) })}>
            Next
          </Button>
        </nav>
      )}
      {opened === 'create' && <CreateDialog onClose={() => open(undefined)} />}
      {opened === 'invite' && <InviteDialog onClose={() => open(undefined)} onInvited={reload} />}
    </>
  )
}

/** Searches when the typing pauses. */
function Search({ text, onSearch }: { readonly text: string; readonly onSearch: (text: string) => void }) {
  const [typed, setTyped] = useState(text)
  useEffect(() => {
    if (typed === text) return undefined
    const timer = setTimeout(() => onSearch(typed), 200)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <input
      type="search"
      aria-label="Search users"
      placeholder="Address, phone, name or id"
      value={typed}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
    />
  )
}

function Users({ found: { users, appRoles }, filter }: { readonly found: UserPage; readonly filter: string }) {
  if (users.length === 0) {
    return filter === '' ? (
      <Empty title="There are no users yet">
        <p>Create one here, invite one by mail, or sign up in your app.</p>
      </Empty>
    ) : (
      <Empty title="No user matches">
        <p>
          The search looks at addresses, phone numbers, full names, and whole ids.{' '}
          <a href={href(['users'])}>Show all users</a>
        </p>
      </Empty>
    )
  }
  return (
    <Table head={['User', 'State', 'Signs in with', 'Created', 'Last sign-in']}>
      {users.map((user) => (
        <tr key={user.id}>
          <td class="user-name">
            <a href={href(['users', user.id])}>{nameOf(user)}</a>
            {fullName(user) !== '' && <div class="faint small">{fullName(user)}</div>}
          </td>
          <td>
            <UserBadges user={user} appRole={appRoles.get(user.id)} />
          </td>
          <td>{providersOf(user)}</td>
          <td>
            <Time at={user.created_at} />
          </td>
          <td>
            <Time at={user.last_sign_in_at} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

const providersOf = ({ app_metadata: { providers }, is_anonymous: isAnonymous }: User): string =>
  isAnonymous === true ? 'nothing' : Array.isArray(providers) ? providers.map(String).join(', ') : ''

/** What is unusual about an account. */
export function UserBadges({ user, appRole }: { readonly user: User; readonly appRole: string | null | undefined }) {
  const isConfirmed = user.email_confirmed_at !== undefined || user.phone_confirmed_at !== undefined
  return (
    <span class="badges">
      {appRole !== undefined && appRole !== null && (
        <Badge kind="good">{appRole === administrator ? 'administrator' : appRole}</Badge>
      )}
      {isBanned(user) && <Badge kind="bad">banned</Badge>}
      {user.deleted_at !== undefined && <Badge kind="bad">deleted</Badge>}
      {user.is_anonymous === true && <Badge>anonymous</Badge>}
      {!isConfirmed && user.is_anonymous !== true && (
        <Badge kind="warning">{user.invited_at === undefined ? 'unconfirmed' : 'invited'}</Badge>
      )}
      {user.factors?.some(({ status }) => status === 'verified') === true && <Badge>second factor</Badge>}
    </span>
  )
}

function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const [email, setEmail] = useState('')
  const [phone, setPhone] = useState('')
  const [password, setPassword] = useState('')
  const [isConfirmed, setConfirmed] = useState(true)
  const submit = async (): Promise<void> => {
    const { id } = await createUser({
      ...(email === '' ? {} : { email, email_confirm: isConfirmed }),
      ...(phone === '' ? {} : { phone, phone_confirm: isConfirmed }),
      ...(password === '' ? {} : { password }),
    })
    go(['users', id])
  }
  return (
    <FormDialog title="Create user" action="Create" onSubmit={submit} onClose={onClose}>
      <TextField label="E-mail" type="email" autocomplete="off" value={email} onText={setEmail} />
      <TextField label="Phone" type="tel" autocomplete="off" value={phone} onText={setPhone} />
      <TextField label="Password" type="password" autocomplete="new-password" value={password} onText={setPassword} />
      <p class="faint small">Without a password, the user signs in by codes and links.</p>
      <label>
        <input
          type="checkbox"
          checked={isConfirmed}
          onChange={({ currentTarget }) => setConfirmed(currentTarget.checked)}
        />{' '}
        The address is confirmed
      </label>
    </FormDialog>
  )
}

function InviteDialog({ onClose, onInvited }: { readonly onClose: () => void; readonly onInvited: () => void }) {
  const [email, setEmail] = useState('')
  return (
    <FormDialog
      title="Invite a user"
      action="Send the invitation"
      onSubmit={() => inviteUser(email).then(onInvited)}
      onClose={onClose}
    >
      <TextField label="E-mail" type="email" required autocomplete="off" value={email} onText={setEmail} />
      <p class="faint small">The mail has a link that confirms the address and signs the user in.</p>
    </FormDialog>
  )
}
