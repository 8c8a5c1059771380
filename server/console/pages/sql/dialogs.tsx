// The history of the editor, and its text as a migration.
import { useState } from 'preact/hooks'
import { consoleApi } from '../../api.ts'
import { Button, Dialog, Empty, Problem, TextField } from '../../parts.tsx'
import { forgetRuns, pastRuns } from './history.ts'

type HistoryProps = { readonly onChoose: (sql: string) => void; readonly onClose: () => void }

export function HistoryDialog({ onChoose, onClose }: HistoryProps) {
  const [runs, setRuns] = useState(pastRuns)
  return (
    <Dialog title="History" onClose={onClose} isWide>
      {runs.length === 0 ? (
        <Empty title="Nothing was run yet">What you run in this browser is listed here.</Empty>
      ) : (
        <>
          <ul class="history">
            {runs.map(({ sql, as, at }) => (
              <li key={at}>
                <button type="button" onClick={() => onChoose(sql)}>
                  <code>{sql.length > 300 ? `${sql.slice(0, 300)}…` : sql}</code>
                  <small class="faint">
                    as {as}, {new Date(at).toLocaleString()}
                  </small>
                </button>
              </li>
            ))}
          </ul>
          <div class="actions">
            <Button
              kind="danger"
              onClick={() => {
                forgetRuns()
                setRuns([])
              }}
            >
              Delete the history
            </Button>
          </div>
        </>
      )}
    </Dialog>
  )
}

type MigrationProps = { readonly sql: string; readonly onClose: () => void }

export function MigrationDialog({ sql, onClose }: MigrationProps) {
  const [name, setName] = useState('')
  const [error, setError] = useState<unknown>()
  const [path, setPath] = useState<string>()
  const save = async (): Promise<void> => {
    const { path: written } = await consoleApi<{ path: string }>('migrations', { method: 'POST', body: { name, sql } })
    setPath(written)
  }
  return (
    <Dialog title="Save as a migration" onClose={onClose}>
      {path === undefined ? (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            save().catch(setError)
          }}
        >
          <TextField label="Name" required placeholder="create notes" value={name} onText={setName} />
          <Problem error={error} />
          <div class="actions">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" kind="primary">
              Write the file
            </Button>
          </div>
        </form>
      ) : (
        <>
          <p>
            It is in <code>{path}</code>. <code>rowhouse migrate</code> applies it.
          </p>
          <div class="actions">
            <Button onClick={onClose}>Close</Button>
          </div>
        </>
      )}
    </Dialog>
  )
}
