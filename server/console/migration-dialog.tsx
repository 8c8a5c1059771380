// SQL as a migration of the project.
import { useState } from 'preact/hooks'
import { consoleApi } from './api.ts'
import { useAction } from './forms.tsx'
import { Button, Dialog, Problem, TextField } from './parts.tsx'

type MigrationProps = { readonly sql: string; readonly onClose: () => void }

/** Writes SQL into a new file of the project's migrations, during development. */
export const MigrationDialog = ({ sql, onClose }: MigrationProps) => (
  <Dialog title="Save as a migration" onClose={onClose}>
    <MigrationForm sql={sql} onClose={onClose} />
  </Dialog>
)

type MigrationFormProps = MigrationProps & {
  /** Its name, which can be changed. */
  readonly suggestion?: string
}

export function MigrationForm({ sql, onClose, suggestion = '' }: MigrationFormProps) {
  const [name, setName] = useState(suggestion)
  const [path, setPath] = useState<string>()
  const { error, isBusy, run } = useAction()
  const save = async (): Promise<void> => {
    const { path: written } = await consoleApi<{ path: string }>('migrations', { method: 'POST', body: { name, sql } })
    setPath(written)
  }
  if (path !== undefined) {
    return (
      <>
        <p role="status">
          It is in <code>{path}</code>. <code>rowhouse migrate</code> applies it.
        </p>
        <div class="actions">
          <Button onClick={onClose}>Close</Button>
        </div>
      </>
    )
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        run(save)
      }}
    >
      <TextField label="Name" required placeholder="create notes" value={name} onText={setName} />
      <Problem error={error} />
      <div class="actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" isBusy={isBusy}>
          Write the file
        </Button>
      </div>
    </form>
  )
}
