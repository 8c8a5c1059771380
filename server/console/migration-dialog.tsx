// SQL that people look at before they keep it: as a migration of the project, or elsewhere.
import { useState } from 'preact/hooks'
import { consoleApi } from './api.ts'
import { useAction } from './forms.tsx'
import { Button, Dialog, Problem, Snippet, TextField } from './parts.tsx'
import { href } from './router.ts'
import { useSession } from './session.tsx'

type MigrationProps = { readonly sql: string; readonly onClose: () => void }

/** Writes SQL into a new file of the project's migrations, during development. */
export const MigrationDialog = ({ sql, onClose }: MigrationProps) => (
  <Dialog title="Save as a migration" onClose={onClose}>
    <MigrationForm sql={sql} onClose={onClose} />
  </Dialog>
)

type MigrationFormProps = MigrationProps & { readonly suggestion?: string }

function MigrationForm({ sql, onClose, suggestion = '' }: MigrationFormProps) {
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

type StatementProps = {
  readonly sql: string
  /** Name of a migration of it. */
  readonly suggestion: string
  readonly onClose: () => void
}

/** SQL to copy, to open on the page of SQL, and, during development, to save as a migration. */
export function Statement({ sql, suggestion, onClose }: StatementProps) {
  const { isDevelopment } = useSession()
  return (
    <>
      <Snippet text={sql} />
      <p>
        <a href={href(['sql'], { sql })}>Open it on the SQL page</a>
      </p>
      {isDevelopment && (
        <>
          <h3>As a migration</h3>
          <MigrationForm sql={sql} suggestion={suggestion} onClose={onClose} />
        </>
      )}
    </>
  )
}
