// Forms and buttons that send something: busy until the response arrives, with its error.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button, Dialog, Problem } from './parts.tsx'

export type Action = {
  readonly error: unknown
  readonly isBusy: boolean
  /** Runs one action at a time. */
  readonly run: (act: () => Promise<unknown>) => void
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
      act()
        .catch(setError)
        .finally(() => setBusy(false))
    },
  }
}

type FormDialogProps = {
  readonly title: string
  /** The text of the button. */
  readonly action: string
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
          <Button type="submit" kind="primary" isBusy={isBusy} isDisabled={isDisabled}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
