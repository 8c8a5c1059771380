// The console's session: a cookie that scripts cannot read, which one gets for the code of a printed link, the secret key, or
// the account of an administrator.
import { createContext } from 'preact'
import { useContext, useState } from 'preact/hooks'
import type { ConsoleSession, ConsoleSignIn } from '../services/console/protocol.ts'
import { ApiProblem, consoleApi, problemOf, serverUrl } from './api.ts'
import { useAction } from './forms.tsx'
import { Button, Problem, TextField } from './parts.tsx'

const Context = createContext<ConsoleSession | undefined>(undefined)
export const SessionProvider = Context.Provider

export function useSession(): ConsoleSession {
  const session = useContext(Context)
  if (!session) throw new Error('useSession needs a SessionProvider')
  return session
}

/** Whether the address is a printed link, with its code. */
export const isLink = (): boolean => location.hash.startsWith('#code=')

/**
 * The session of the cookie, or a new one for the code in the fragment of a printed link, which is removed from the address.
 *
 * @throws ApiProblem 401 without a session
 */
export async function openSession(): Promise<ConsoleSession> {
  const [, code] = /^#code=([\w-]+)$/.exec(location.hash) ?? []
  if (code === undefined) return consoleApi<ConsoleSession>('session')
  history.replaceState(null, '', location.pathname)
  return signIn({ code }).catch((error: unknown) =>
    // The link was opened twice: the cookie of the first time is still there.
    consoleApi<ConsoleSession>('session').catch(() => {
      throw error
    }),
  )
}

const signIn = (body: ConsoleSignIn): Promise<ConsoleSession> =>
  consoleApi<ConsoleSession>('session', { method: 'POST', body })

type SignInProps = { readonly error: unknown; readonly onSession: (session: ConsoleSession) => void }

/** Asks for the secret key, or the account of an administrator. */
export function SignIn({ error, onSession }: SignInProps) {
  const [kind, setKind] = useState<'key' | 'account'>('key')
  const isRefused = !(error instanceof ApiProblem && error.status === 401)
  return (
    <main class="sign-in">
      <h1>rowhouse console</h1>
      <p>
        During development, open the link that the server prints, or a new one from <code>rowhouse console</code>.
        Otherwise sign in.
      </p>
      {isRefused && <Problem error={error} />}
      <div class="tabs" role="group" aria-label="How to sign in">
        <button type="button" aria-pressed={kind === 'key'} onClick={() => setKind('key')}>
          Secret key
        </button>
        <button type="button" aria-pressed={kind === 'account'} onClick={() => setKind('account')}>
          Account
        </button>
      </div>
      {kind === 'key' ? <KeyForm onSession={onSession} /> : <AccountForm onSession={onSession} />}
    </main>
  )
}

type FormProps = Pick<SignInProps, 'onSession'>

function KeyForm({ onSession }: FormProps) {
  const [key, setKey] = useState('')
  return (
    <SignInForm onSubmit={() => signIn({ key }).then(onSession)}>
      <TextField
        label="Secret key"
        type="password"
        required
        autocomplete="off"
        placeholder="sb_secret_…"
        value={key}
        onText={setKey}
      />
    </SignInForm>
  )
}

type Tokens = { readonly access_token: string; readonly user?: { readonly factors?: readonly Factor[] } }
type Factor = { readonly id: string; readonly status: string; readonly factor_type: string }

function AccountForm({ onSession }: FormProps) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [tokens, setTokens] = useState<Tokens>()
  const factor = tokens?.user?.factors?.find(
    ({ status, factor_type }) => status === 'verified' && factor_type === 'totp',
  )
  const submit = async (): Promise<void> => {
    if (tokens && factor) {
      const path = `factors/${encodeURIComponent(factor.id)}`
      const challenge = await auth<{ id: string }>(`${path}/challenge`, {}, tokens.access_token)
      const verified = await auth<Tokens>(`${path}/verify`, { challenge_id: challenge.id, code }, tokens.access_token)
      onSession(await signIn({ access_token: verified.access_token }))
      return
    }
    const given = await auth<Tokens>('token?grant_type=password', { email, password })
    if (given.user?.factors?.some(({ status }) => status === 'verified')) setTokens(given)
    else onSession(await signIn({ access_token: given.access_token }))
  }
  return (
    <SignInForm onSubmit={submit}>
      {factor ? (
        <TextField
          label="Code of your second factor"
          required
          inputMode="numeric"
          autocomplete="one-time-code"
          value={code}
          onText={setCode}
        />
      ) : (
        <>
          <TextField label="E-mail" type="email" required autocomplete="username" value={email} onText={setEmail} />
          <TextField
            label="Password"
            type="password"
            required
            autocomplete="current-password"
            value={password}
            onText={setPassword}
          />
        </>
      )}
    </SignInForm>
  )
}

/** Calls `/auth/v1` as any client. */
async function auth<T>(path: string, body: object, token?: string): Promise<T> {
  const response = await fetch(new URL(`auth/v1/${path}`, serverUrl), {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
    credentials: 'omit',
  })
  if (!response.ok) throw await problemOf(response)
  return (await response.json()) as T
}

type SignInFormProps = { readonly onSubmit: () => Promise<void>; readonly children: preact.ComponentChildren }

function SignInForm({ onSubmit, children }: SignInFormProps) {
  const { error, isBusy, run } = useAction()
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        run(onSubmit)
      }}
    >
      {children}
      <Problem error={error} />
      <Button type="submit" kind="primary" isBusy={isBusy}>
        Sign in
      </Button>
    </form>
  )
}
