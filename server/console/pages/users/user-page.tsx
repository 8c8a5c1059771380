// One account: what it is, and everything that administrators may change.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { UserDetails } from '../../../services/console/protocol.ts'
import { consoleApi } from '../../api.ts'
import { Confirm, useAction } from '../../forms.tsx'
import { Badge, Button, Copy, Loading, Problem, Snippet, useLoaded } from '../../parts.tsx'
import { go, href } from '../../router.ts'
import { Time } from '../../values.tsx'
import { nameOf, useViewer } from '../../viewer.tsx'
import { UserBadges } from './user-list.tsx'
import {
  administrator,
  changeUser,
  deleteUser,
  findUser,
  fullName,
  isBanned,
  listPasskeys,
  sendRecovery,
  setAppRole,
} from './users.ts'
import { EditDialog, LinkDialog } from './user-dialogs.tsx'
import type { AccountProps, PartProps } from './user-part.ts'
import { Factors, Passkeys, Sessions } from './user-sign-in.tsx'

export function UserPage({ id }: { readonly id: string }) {
  const { value, error, reload } = useLoaded(async () => {
    const [user, passkeys, details] = await Promise.all([
      findUser(id),
      listPasskeys(id),
      consoleApi<UserDetails>(`users/${id}`),
    ])
    return { user, passkeys, details }
  }, [id])
  return (
    <div class="users">
      <p>
        <a href={href(['users'])}>← Users</a>
      </p>
      <Problem error={error} />
      {value ? <Account {...value} onChanged={reload} /> : error === undefined && <Loading />}
    </div>
  )
}

function Account({ user, passkeys, details, onChanged }: AccountProps) {
  const action = useAction()
  const change = (act: () => Promise<unknown>): void => action.run(() => act().then(onChanged))
  const parts = { user, passkeys, details, action, change, onChanged }
  return (
    <>
      <h1>{nameOf(user)}</h1>
      <p class="bar">
        <UserBadges user={user} appRole={details.app_role} /> <code>{user.id}</code> <Copy text={user.id} />
      </p>
      <Problem error={action.error} />
      <Actions {...parts} />
      <div class="cards">
        <Facts {...parts} />
        <Rights {...parts} />
        <Factors {...parts} />
        <Passkeys {...parts} />
        <Sessions {...parts} />
      </div>
    </>
  )
}

type Opened = 'edit' | 'link' | 'delete' | undefined

function Actions({ user, action, onChanged }: PartProps) {
  const { choose } = useViewer()
  const [opened, open] = useState<Opened>()
  const [isSent, setSent] = useState(false)
  const close = (): void => open(undefined)
  return (
    <div class="bar">
      <Button
        kind="primary"
        onClick={() => {
          choose({ kind: 'user', id: user.id, label: nameOf(user) })
          go(['tables'])
        }}
      >
        Look as this user
      </Button>
      <Button onClick={() => open('edit')}>Edit</Button>
      {user.email !== '' && (
        <>
          <Button
            isBusy={action.isBusy}
            isDisabled={isSent}
            onClick={() => action.run(() => sendRecovery(user.email).then(() => setSent(true)))}
          >
            {isSent ? 'Mail sent' : 'Reset password by mail'}
          </Button>
          <Button onClick={() => open('link')}>Sign-in link</Button>
        </>
      )}
      <span class="grow" />
      <Button kind="danger" onClick={() => open('delete')}>
        Delete
      </Button>
      {opened === 'edit' && <EditDialog user={user} onClose={close} onChanged={onChanged} />}
      {opened === 'link' && <LinkDialog email={user.email} onClose={close} />}
      {opened === 'delete' && (
        <Confirm
          title="Delete this user?"
          action="Delete for ever"
          typed={nameOf(user)}
          onConfirm={() => deleteUser(user.id).then(() => go(['users']))}
          onClose={close}
        >
          <p>
            The account, its sessions and its factors are deleted, and all rows of tables that reference it with{' '}
            <code>on delete cascade</code>. Its files stay. This cannot be undone.
          </p>
        </Confirm>
      )}
    </div>
  )
}

type FactProps = { readonly name: string; readonly children: ComponentChildren }

const Fact = ({ name, children }: FactProps) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

function Facts({ user, action, change }: PartProps) {
  const { email, phone, identities = [] } = user
  return (
    <section class="card">
      <h2>Account</h2>
      <dl class="facts">
        {fullName(user) !== '' && <Fact name="Name">{fullName(user)}</Fact>}
        {email !== '' && (
          <Fact name="E-mail">
            {email}{' '}
            <Confirmation
              at={user.email_confirmed_at}
              isBusy={action.isBusy}
              onConfirm={() => change(() => changeUser(user.id, { email_confirm: true }))}
            />
          </Fact>
        )}
        {phone !== '' && (
          <Fact name="Phone">
            {phone}{' '}
            <Confirmation
              at={user.phone_confirmed_at}
              isBusy={action.isBusy}
              onConfirm={() => change(() => changeUser(user.id, { phone_confirm: true }))}
            />
          </Fact>
        )}
        <Fact name="Created">
          <Time at={user.created_at} />
        </Fact>
        {user.invited_at !== undefined && (
          <Fact name="Invited">
            <Time at={user.invited_at} />
          </Fact>
        )}
        <Fact name="Last sign-in">
          <Time at={user.last_sign_in_at} />
        </Fact>
        <Fact name="Identities">
          {identities.length === 0 ? 'none' : identities.map(({ provider }) => provider).join(', ')}
        </Fact>
      </dl>
      <details>
        <summary>Metadata</summary>
        <h3>user_metadata</h3>
        <Snippet text={JSON.stringify(user.user_metadata, null, 2)} />
        <h3>app_metadata</h3>
        <Snippet text={JSON.stringify(user.app_metadata, null, 2)} />
      </details>
    </section>
  )
}

type ConfirmationProps = {
  readonly at: string | undefined
  readonly isBusy: boolean
  readonly onConfirm: () => void
}

const Confirmation = ({ at, isBusy, onConfirm }: ConfirmationProps) =>
  at === undefined ? (
    <Button isBusy={isBusy} onClick={onConfirm}>
      Confirm
    </Button>
  ) : (
    <Badge kind="good">confirmed</Badge>
  )

/** What GoTrue reads as durations. */
const banDurations = [
  ['1h', '1 hour'],
  ['24h', '1 day'],
  ['168h', '1 week'],
  ['720h', '30 days'],
  ['876000h', '100 years'],
] as const

function Rights({ user, details: { app_role: appRole }, action, change }: PartProps) {
  const [duration, setDuration] = useState('24h')
  const isAdministrator = appRole === administrator
  return (
    <section class="card">
      <h2>Rights</h2>
      <p>
        Its requests have the database role <code>{user.role}</code>
        {appRole !== null && (
          <>
            {' '}
            and the claim <code>app_role: {appRole}</code>
          </>
        )}
        .
      </p>
      <p>
        <Button
          isBusy={action.isBusy}
          onClick={() => change(() => setAppRole(user.id, isAdministrator ? null : administrator))}
        >
          {isAdministrator ? 'Remove as administrator' : 'Make administrator'}
        </Button>
      </p>
      <p class="faint small">
        Administrators review reports and may open this console. Sessions have the new claim after their next refresh;
        removing it takes effect at once.
      </p>
      <h3>Ban</h3>
      {isBanned(user) ? (
        <p class="bar">
          <span>
            Banned; ends <Time at={user.banned_until} />
          </span>
          <Button isBusy={action.isBusy} onClick={() => change(() => changeUser(user.id, { ban_duration: 'none' }))}>
            Unban
          </Button>
        </p>
      ) : (
        <p class="bar">
          <select
            aria-label="Duration of the ban"
            value={duration}
            onChange={({ currentTarget }) => setDuration(currentTarget.value)}
          >
            {banDurations.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
          <Button
            kind="danger"
            isBusy={action.isBusy}
            onClick={() => change(() => changeUser(user.id, { ban_duration: duration }))}
          >
            Ban
          </Button>
        </p>
      )}
    </section>
  )
}
