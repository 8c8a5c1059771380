// The page on which people grant an application access to their account, for servers without a page of their own:
// `GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH=/console/consent`. The token of the person stays in memory.
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { AccountForm } from './account-form.tsx'
import { askAuth } from './auth-api.ts'
import { useAction } from './forms.tsx'
import { Button, Loading, Problem } from './parts.tsx'

/** What an application asks for. */
type Asked = {
  readonly client: { readonly name?: string; readonly uri?: string }
  readonly redirect_uri: string
  readonly scope: string
  readonly user: { readonly email: string }
}

/** Where to return to. */
type Answered = { readonly redirect_url: string }

const authorization = new URLSearchParams(location.search).get('authorization_id') ?? ''

function Consent() {
  const [token, setToken] = useState<string>()
  if (authorization === '') {
    return (
      <Frame title="Access to your account">
        <Problem
          error={new Error('The address of this page has no authorization_id: begin again in the application.')}
        />
      </Frame>
    )
  }
  if (token !== undefined) return <Request token={token} />
  return (
    <Frame title="Sign in">
      <p>An application asks for access to your account on this server. Sign in to see which one.</p>
      <AccountForm
        onToken={(given) => {
          setToken(given)
          return Promise.resolve()
        }}
      />
    </Frame>
  )
}

type FrameProps = { readonly title: string; readonly children: preact.ComponentChildren }

function Frame({ title, children }: FrameProps) {
  return (
    <main class="sign-in">
      <h1>{title}</h1>
      {children}
    </main>
  )
}

const path = `oauth/authorizations/${encodeURIComponent(authorization)}`

function Request({ token }: { readonly token: string }) {
  const [asked, setAsked] = useState<Asked>()
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const open = async (): Promise<void> => {
      const opened = await askAuth<Asked | Answered>(path, undefined, token)
      // The person has granted the same before.
      if ('redirect_url' in opened) leave(opened)
      else setAsked(opened)
    }
    open().catch(setError)
  }, [token])
  if (error !== undefined) {
    return (
      <Frame title="Access to your account">
        <Problem error={error} />
        <p>Begin again in the application.</p>
      </Frame>
    )
  }
  return asked ? <Question asked={asked} token={token} /> : <Loading />
}

/** What the scopes permit, in words. */
const scopes: Readonly<Record<string, string>> = {
  openid: 'who you are',
  email: 'your e-mail address',
  profile: 'your name and picture',
  phone: 'your phone number',
  offline_access: 'access while you are away',
}

function Question({ asked, token }: { readonly asked: Asked; readonly token: string }) {
  const { error, isBusy, run } = useAction()
  const answer = (action: 'approve' | 'deny') => () =>
    run(async () => leave(await askAuth<Answered>(`${path}/consent`, { action }, token)))
  const { client, redirect_uri: target, scope, user } = asked
  return (
    <Frame title="Grant access to your account?">
      <p>
        An application that calls itself <strong>{client.name ?? 'nothing'}</strong> asks for access to the account{' '}
        <strong>{user.email}</strong>.
      </p>
      <dl>
        <dt>You return to</dt>
        <dd>
          <code>{placeOf(target)}</code>
        </dd>
        {client.uri !== undefined && client.uri !== '' && (
          <>
            <dt>Its page, as it says</dt>
            <dd>
              <code>{client.uri}</code>
            </dd>
          </>
        )}
        <dt>It learns</dt>
        <dd>
          {scope
            .split(' ')
            .filter(Boolean)
            .map((name) => scopes[name] ?? name)
            .join(', ') || 'nothing more'}
        </dd>
        <dt>It may</dt>
        <dd>
          read your account with its addresses, and read and change the data that you can, but change neither your
          password nor anything else of your account
        </dd>
      </dl>
      <p>Approve only if you have just asked that application for it, and know the place that you return to.</p>
      <Problem error={error} />
      <div class="actions">
        <Button kind="primary" isBusy={isBusy} onClick={answer('approve')}>
          Approve
        </Button>
        <Button isBusy={isBusy} onClick={answer('deny')}>
          Deny
        </Button>
      </div>
    </Frame>
  )
}

/** The host of a page, or the scheme of an app. */
function placeOf(target: string): string {
  const { protocol, host } = new URL(target)
  return host === '' ? protocol : /^https?:$/.test(protocol) ? host : `${protocol}//${host}`
}

/** Schemes that would run something in this page, or show a file. */
const unsafe: ReadonlySet<string> = new Set(['javascript:', 'data:', 'blob:', 'file:', 'vbscript:'])

function leave({ redirect_url: target }: Answered): void {
  if (unsafe.has(new URL(target).protocol)) throw new Error('The application has an address that cannot be opened.')
  location.replace(target)
}

const root = document.getElementById('consent')
if (root) render(<Consent />, root)
