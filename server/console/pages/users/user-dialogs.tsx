// The dialogs of an account: its data, and a link that signs in.
import { useState } from 'preact/hooks'
import { FormDialog } from '../../forms.tsx'
import { Dialog, Field, Loading, Problem, Snippet, TextField, useLoaded } from '../../parts.tsx'
import { changeUser, metadataChanges, signInLink, type User } from './users.ts'

export function LinkDialog({ email, onClose }: { readonly email: string; readonly onClose: () => void }) {
  const { value: link, error } = useLoaded(() => signInLink(email), [email])
  return (
    <Dialog title="Sign-in link" onClose={onClose}>
      <p>
        Signs in as <strong>{email}</strong> once. It was not sent. Codes that were sent before are no longer valid.
      </p>
      <Problem error={error} />
      {link === undefined ? error === undefined && <Loading /> : <Snippet text={link} />}
    </Dialog>
  )
}

type EditProps = { readonly user: User; readonly onClose: () => void; readonly onChanged: () => void }

export function EditDialog({ user, onClose, onChanged }: EditProps) {
  const [email, setEmail] = useState(user.email)
  const [phone, setPhone] = useState(user.phone)
  const [password, setPassword] = useState('')
  const [userData, setUserData] = useState(() => JSON.stringify(user.user_metadata, null, 2))
  const [appData, setAppData] = useState(() => JSON.stringify(user.app_metadata, null, 2))
  const save = async (): Promise<void> => {
    await changeUser(user.id, {
      ...(email === user.email ? {} : { email }),
      ...(phone === user.phone ? {} : { phone }),
      ...(password === '' ? {} : { password }),
      user_metadata: metadataChanges(user.user_metadata, objectIn(userData)),
      app_metadata: metadataChanges(user.app_metadata, objectIn(appData)),
    })
    onChanged()
  }
  return (
    <FormDialog title="Edit user" action="Save" onSubmit={save} onClose={onClose}>
      <TextField label="E-mail" type="email" autocomplete="off" value={email} onText={setEmail} />
      <TextField label="Phone" type="tel" autocomplete="off" value={phone} onText={setPhone} />
      <TextField
        label="New password"
        type="password"
        autocomplete="new-password"
        placeholder="stays as it is"
        value={password}
        onText={setPassword}
      />
      <p class="faint small">A new password ends all sessions of the user.</p>
      <Field label="user_metadata" error={faultOf(userData)}>
        <textarea rows={5} value={userData} onInput={({ currentTarget }) => setUserData(currentTarget.value)} />
      </Field>
      <Field label="app_metadata" error={faultOf(appData)}>
        <textarea rows={5} value={appData} onInput={({ currentTarget }) => setAppData(currentTarget.value)} />
      </Field>
    </FormDialog>
  )
}

/** @throws Error when the text is not a JSON object */
function objectIn(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new Error('Metadata are a JSON object')
}

function faultOf(text: string): string | undefined {
  try {
    objectIn(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : undefined
  }
}
