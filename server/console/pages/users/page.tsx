// Users: the accounts of `/auth/v1`, and the mailbox of the development mode.
import { Badge, Tabs } from '../../parts.tsx'
import { go, useRoute } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { Mailbox } from './mailbox.tsx'
import { UserList } from './user-list.tsx'
import { UserPage } from './user-page.tsx'

const tabs = [
  { key: 'accounts', label: 'Accounts' },
  { key: 'mailbox', label: 'Mailbox' },
] as const

export default function Users() {
  const { path } = useRoute()
  const { hasMailbox } = useSession()
  const [, chosen] = path
  if (chosen !== undefined && chosen !== 'mailbox') return <UserPage key={chosen} id={chosen} />
  return (
    <div class="users">
      <h1>Users</h1>
      <p class="faint">
        This page acts as <Badge kind="warning">service_role</Badge>, whatever you have chosen at the top: only the
        secret key may administer accounts.
      </p>
      {hasMailbox && (
        <Tabs
          label="What to show"
          tabs={tabs}
          chosen={chosen ?? 'accounts'}
          onChoose={(key) => go(key === 'mailbox' ? ['users', 'mailbox'] : ['users'])}
        />
      )}
      {chosen === 'mailbox' ? <Mailbox /> : <UserList />}
    </div>
  )
}
