// How an account signs in, and where it is signed in.
import { Badge, Button } from '../../parts.tsx'
import { Time } from '../../values.tsx'
import type { PartProps } from './user-part.ts'
import { endSession, removeFactor, removePasskey } from './users.ts'

export function Factors({ user: { id, factors = [] }, action, change }: PartProps) {
  return (
    <section class="card">
      <h2>Second factors</h2>
      {factors.length === 0 && <p class="faint">The user has none.</p>}
      <ul class="rows">
        {factors.map(({ id: factor, friendly_name: name, factor_type: type, status, created_at: at }) => (
          <li key={factor}>
            <span>
              {name ?? type} <Badge kind={status === 'verified' ? 'good' : 'plain'}>{status}</Badge>
              <br />
              <small class="faint">
                {type}, added <Time at={at} />
              </small>
            </span>
            <Button isBusy={action.isBusy} onClick={() => change(() => removeFactor(id, factor))}>
              Remove
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}

export function Passkeys({ user: { id }, passkeys, action, change }: PartProps) {
  return (
    <section class="card">
      <h2>Passkeys</h2>
      {passkeys.length === 0 && <p class="faint">The user has no passkeys.</p>}
      <ul class="rows">
        {passkeys.map(({ id: passkey, friendly_name: name, created_at: at, last_used_at: used }) => (
          <li key={passkey}>
            <span>
              {name ?? 'Passkey'}
              <br />
              <small class="faint">
                added <Time at={at} />,{' '}
                {used === undefined ? (
                  'never used'
                ) : (
                  <>
                    last used <Time at={used} />
                  </>
                )}
              </small>
            </span>
            <Button isBusy={action.isBusy} onClick={() => change(() => removePasskey(id, passkey))}>
              Remove
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}

export function Sessions({ user: { id }, details: { sessions }, action, change }: PartProps) {
  return (
    <section class="card">
      <h2>Sessions</h2>
      {sessions.length === 0 && <p class="faint">The user is signed in nowhere.</p>}
      <ul class="rows">
        {sessions.map(({ id: session, createdAt, refreshedAt, hasCookie, userAgent, passkey }) => (
          <li key={session}>
            <span>
              {userAgent ?? 'Unknown client'} <Badge>{hasCookie ? 'cookie' : 'tokens'}</Badge>{' '}
              {passkey !== null && <Badge>{passkey.name ?? 'passkey that was removed'}</Badge>}
              <br />
              <small class="faint">
                began <Time at={createdAt} />, last used <Time at={refreshedAt ?? createdAt} />
              </small>
            </span>
            <Button isBusy={action.isBusy} onClick={() => change(() => endSession(id, session))}>
              Sign out
            </Button>
          </li>
        ))}
      </ul>
      {sessions.length > 1 && (
        <Button isBusy={action.isBusy} onClick={() => change(() => endSession(id, 'all'))}>
          Sign out everywhere
        </Button>
      )}
    </section>
  )
}
