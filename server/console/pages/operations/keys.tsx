// API keys: create, limit and revoke them; and the limits of roles.
import { useState } from 'preact/hooks'
import type { CreatedKey, KeyReport, KeyState } from '../../../services/console/operation-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Confirm } from '../../forms.tsx'
import { Badge, Button, Dialog, Empty, Loading, Problem, Snippet, Table, useLoaded } from '../../parts.tsx'
import { dateText } from '../../values.tsx'
import { KeyForm, LimitsForm } from './key-forms.tsx'

type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'created'; readonly created: CreatedKey }
  | { readonly kind: 'limit'; readonly key: KeyState }
  | { readonly kind: 'revoke'; readonly key: KeyState }

export function Keys() {
  const { value, error, reload } = useLoaded((signal) => consoleApi<KeyReport>('operations/keys', { signal }), [])
  const [open, setOpen] = useState<Open>()
  const [hasRevoked, setRevoked] = useState(false)
  const close = (): void => setOpen(undefined)
  const shown = value?.keys.filter(({ revokedAt }) => hasRevoked || revokedAt === null)
  return (
    <>
      <div class="bar">
        <Button kind="primary" onClick={() => setOpen({ kind: 'create' })}>
          Create a key
        </Button>
        <label>
          <input
            type="checkbox"
            checked={hasRevoked}
            onChange={({ currentTarget }) => setRevoked(currentTarget.checked)}
          />{' '}
          also revoked ones
        </label>
      </div>
      <Problem error={error} />
      {!value && error === undefined && <Loading />}
      {shown?.length === 0 && (
        <Empty title="No keys">
          <p>
            A publishable key acts as anon and may appear in web pages; a secret key acts as another role, or as a user,
            and must stay on a server.
          </p>
        </Empty>
      )}
      {shown && shown.length > 0 && <KeyTable keys={shown} onOpen={setOpen} />}
      {value && <RoleLimits roles={value.roles} />}
      {open?.kind === 'create' && (
        <KeyForm
          onCreated={(created) => {
            reload()
            setOpen({ kind: 'created', created })
          }}
          onClose={() => setOpen((now) => (now?.kind === 'create' ? undefined : now))}
        />
      )}
      {open?.kind === 'created' && <Created created={open.created} onClose={close} />}
      {open?.kind === 'limit' && value && (
        <LimitsForm stored={open.key} limits={value.limits} onDone={reload} onClose={close} />
      )}
      {open?.kind === 'revoke' && (
        <Confirm
          title={`Revoke ${open.key.hint}…`}
          action="Revoke"
          onConfirm={async () => {
            await consoleApi(`operations/keys/${open.key.id}`, { method: 'DELETE' })
            reload()
          }}
          onClose={close}
        >
          <p>
            Requests with the key <strong>{open.key.label}</strong> are refused from now on. This cannot be undone.
          </p>
        </Confirm>
      )}
    </>
  )
}

const Created = ({
  created: { key, state },
  onClose,
}: {
  readonly created: CreatedKey
  readonly onClose: () => void
}) => (
  <Dialog title={`The key ${state.label}`} onClose={onClose}>
    <p>Copy it now: only its hash is stored, so that it cannot be shown again.</p>
    <Snippet text={key} />
    <div class="actions">
      <Button kind="primary" onClick={onClose}>
        Done
      </Button>
    </div>
  </Dialog>
)

function validity({ revokedAt, expiresAt }: KeyState): string {
  if (revokedAt !== null) return `revoked ${dateText(revokedAt)}`
  if (expiresAt === null) return 'always'
  return `${new Date(expiresAt) <= new Date() ? 'expired' : 'until'} ${dateText(expiresAt)}`
}

const KeyTable = ({ keys, onOpen }: { readonly keys: readonly KeyState[]; readonly onOpen: (open: Open) => void }) => (
  <Table head={['Key', 'For', 'Acts as', 'Valid', 'Limits', <span class="faint">Change</span>]}>
    {keys.map((key) => (
      <tr key={key.id}>
        <td>
          <code>{key.hint}…</code>
        </td>
        <td>{key.label}</td>
        <td>
          {key.userId === null ? key.role : `user ${key.userId.slice(0, 8)}…`}{' '}
          {key.role === 'service_role' && <Badge kind="warning">bypasses policies</Badge>}
        </td>
        <td>{validity(key)}</td>
        <td>
          {key.limits === null ? (
            <span class="faint">none</span>
          ) : (
            Object.entries(key.limits).map(([name, value]) => (
              <div key={name}>
                <code>
                  {name} {value}
                </code>
              </div>
            ))
          )}
        </td>
        <td>
          {key.revokedAt === null && (
            <div class="bar">
              <Button onClick={() => onOpen({ kind: 'limit', key })} title={`Limits of ${key.label}`}>
                Limits
              </Button>
              <Button kind="danger" onClick={() => onOpen({ kind: 'revoke', key })} title={`Revoke ${key.label}`}>
                Revoke
              </Button>
            </div>
          )}
        </td>
      </tr>
    ))}
  </Table>
)

const RoleLimits = ({ roles }: Pick<KeyReport, 'roles'>) => (
  <>
    <h2>Limits of roles</h2>
    {roles.map(({ role, limits }) => (
      <p key={role}>
        <strong>{role}</strong>:{' '}
        {limits.map(([name, value]) => (
          <code key={name}>
            {name} {value}{' '}
          </code>
        ))}
      </p>
    ))}
    {roles.length === 0 && <p class="faint">No role has limits. Set them in SQL:</p>}
    <Snippet text="alter role anon set pgrst.max_requests_per_second = '20'" />
  </>
)
