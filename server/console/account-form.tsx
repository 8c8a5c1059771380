// Signing in with an account of `/auth/v1`, as any client.
import { useState } from 'preact/hooks'
import { askAuth } from './auth-api.ts'
import { useAction } from './forms.tsx'
import { Button, Problem, TextField } from './parts.tsx'

type Tokens = { readonly access_token: string; readonly user?: { readonly factors?: readonly Factor[] } }
type Factor = { readonly id: string; readonly status: string; readonly factor_type: string }

type AccountFormProps = {
  /** Called with the access token of a new session, which has used the second factor if there is one. */
  readonly onToken: (token: string) => Promise<void>
}

/** Asks for an account of /auth/v1: address, password and second factor. */
export function AccountForm({ onToken }: AccountFormProps) {
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
      const challenge = await askAuth<{ id: string }>(`${path}/challenge`, {}, tokens.access_token)
      const verified = await askAuth<Tokens>(
        `${path}/verify`,
        { challenge_id: challenge.id, code },
        tokens.access_token,
      )
      await onToken(verified.access_token)
      return
    }
    const given = await askAuth<Tokens>('token?grant_type=password', { email, password })
    if (given.user?.factors?.some(({ status }) => status === 'verified')) setTokens(given)
    else await onToken(given.access_token)
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

type SignInFormProps = { readonly onSubmit: () => Promise<void>; readonly children: preact.ComponentChildren }

/** A form with the button that signs in. */
export function SignInForm({ onSubmit, children }: SignInFormProps) {
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
