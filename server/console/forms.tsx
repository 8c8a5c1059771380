// Forms and buttons that send something: busy until the response arrives, with its error.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button, Dialog, Problem, TextField } from './parts.tsx'

export type Action = {
  readonly error: unknown
  readonly isBusy: boolean
  /** Runs an action, and keeps its error, also one that it throws at once. */
  readonly run: (act: () => unknown) => void
}

/** What a button or a form does, while it does it. */
export function useAction(): Action {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  return {
    error,
    isBusy,
    run: (act) => {
      setBusy(true)
      setError(undefined)
      attempt(act)
        .catch(setError)
        .finally(() => setBusy(false))
    },
  }
}

async function attempt(act: () => unknown): Promise<void> {
  await act()
}

type FormDialogProps = {
  readonly title: string
  /** The text of the button. */
  readonly action: string
  readonly kind?: 'primary' | 'danger'
  /** Closes the dialog when it succeeds. */
  readonly onSubmit: () => Promise<unknown>
  readonly onClose: () => void
  readonly isWide?: boolean
  readonly isDisabled?: boolean
  readonly children: ComponentChildren
}

/** A dialog with a form. */
export function FormDialog({
  title,
  action,
  kind = 'primary',
  onSubmit,
  onClose,
  isWide = false,
  isDisabled = false,
  children,
}: FormDialogProps) {
  const { error, isBusy, run } = useAction()
  return (
    <Dialog title={title} onClose={onClose} isWide={isWide}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          run(() => onSubmit().then(onClose))
        }}
      >
        {children}
        <Problem error={error} />
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind={kind} isBusy={isBusy} isDisabled={isDisabled}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

type ConfirmProps = Pick<FormDialogProps, 'title' | 'action' | 'onClose'> & {
  /** What has to be typed first. */
  readonly typed?: string
  readonly onConfirm: () => Promise<unknown>
  readonly children?: ComponentChildren
}

/** Asks before something that cannot be undone. Closes when it is done. */
export function Confirm({ typed, onConfirm, children, ...dialog }: ConfirmProps) {
  const [text, setText] = useState('')
  return (
    <FormDialog {...dialog} kind="danger" onSubmit={onConfirm} isDisabled={typed !== undefined && text !== typed}>
      {children}
      {typed !== undefined && (
        <TextField label={`Type ${typed} to confirm`} autocomplete="off" value={text} onText={setText} />
      )}
    </FormDialog>
  )
}
