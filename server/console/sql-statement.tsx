// SQL that a page proposes: to copy, to open on the page of SQL, and, during development, to run or to save.
import type { SqlRequest, SqlRun } from '../services/console/sql-protocol.ts'
import { ApiProblem, consoleApi } from './api.ts'
import { useAction } from './forms.tsx'
import { MigrationForm } from './migration-dialog.tsx'
import { Button, Problem, Snippet } from './parts.tsx'
import { href } from './router.ts'
import { useSession } from './session.tsx'

/** Runs and commits SQL as the owner of the database, during development. @throws ApiProblem */
export async function runAsOwner(sql: string): Promise<void> {
  const body: SqlRequest = { sql, caller: { owner: true }, commit: true }
  const { error } = await consoleApi<SqlRun>('sql', { method: 'POST', body })
  if (error) throw new ApiProblem(422, { ...error, details: error.detail }, error.message)
}

type StatementProps = {
  readonly sql: string
  /** Name of a migration of it. */
  readonly suggestion: string
  /** Called when it was run. Without it, it cannot be run here. */
  readonly onRun?: () => void
  readonly onClose: () => void
}

export function Statement({ sql, suggestion, onRun, onClose }: StatementProps) {
  const { isDevelopment } = useSession()
  const { error, isBusy, run } = useAction()
  return (
    <>
      <Snippet text={sql} />
      <p>
        <a href={href(['sql'], { sql })}>Open it on the SQL page</a>
      </p>
      {isDevelopment && onRun && (
        <>
          <Problem error={error} />
          <div class="actions">
            <Button
              kind="primary"
              isBusy={isBusy}
              onClick={() =>
                run(async () => {
                  await runAsOwner(sql)
                  onRun()
                  onClose()
                })
              }
            >
              Run it as the owner
            </Button>
          </div>
        </>
      )}
      {isDevelopment && (
        <>
          <h3>As a migration</h3>
          <MigrationForm sql={sql} suggestion={suggestion} onClose={onClose} />
        </>
      )}
    </>
  )
}
