// The console's session: a cookie that scripts cannot read, which one gets for the code of a printed link, the secret key, or
// the account of an administrator.
import { createContext } from 'preact'
import { useContext, useState } from 'preact/hooks'
import type { ConsoleSession, ConsoleSignIn } from '../services/console/protocol.ts'
import { AccountForm, SignInForm } from './account-form.tsx'
import { ApiProblem, consoleApi } from './api.ts'
import { Problem, TextField } from './parts.tsx'

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
      {kind === 'key' ? (
        <KeyForm onSession={onSession} />
      ) : (
        <AccountForm onToken={(token) => signIn({ access_token: token }).then(onSession)} />
      )}
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
