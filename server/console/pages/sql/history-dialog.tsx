// The history of the editor.
import { useState } from 'preact/hooks'
import { Button, Dialog, Empty } from '../../parts.tsx'
import { dateTimeText } from '../../values.tsx'
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
                    as {as}, {dateTimeText(at)}
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
