// The statements that have taken the most time.
import type { SlowStatements } from '../../../services/console/request-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Button, Empty, Loading, Problem, Snippet, Table, useLoaded } from '../../parts.tsx'
import { ExplainLink } from './explain-link.tsx'

export function Statements() {
  const { value, error, isLoading, reload } = useLoaded(
    (signal) => consoleApi<SlowStatements>('statements', { signal }),
    [],
  )
  return (
    <>
      <div class="bar">
        <Button isBusy={isLoading} onClick={reload}>
          Refresh
        </Button>
        {value && (
          <span class="faint">
            {value.source === 'seen'
              ? 'Of the requests since this page was opened. With the extension pg_stat_statements: of all time.'
              : 'As pg_stat_statements has them.'}
          </span>
        )}
      </div>
      <Problem error={error} />
      {!value && error === undefined && <Loading />}
      {value?.statements.length === 0 && (
        <Empty title="No statements yet">
          <p>Send requests to the API while this page is open: their statements appear here, the slowest first.</p>
        </Empty>
      )}
      {value && value.statements.length > 0 && (
        <Table head={['Total', 'Mean', 'Calls', 'Statement']}>
          {value.statements.map(({ text, calls, mean, total, example }) => (
            <tr key={text}>
              <td class="number">{milliseconds(total)}</td>
              <td class="number">{milliseconds(mean)}</td>
              <td class="number">{calls}</td>
              <td>
                <details>
                  <summary>
                    <code class="cut">{text.replace(/\s+/g, ' ').slice(0, 200)}</code>
                  </summary>
                  <Snippet text={text} />
                </details>
                {example && (
                  <small>
                    <code>
                      {example.method} {example.path}
                    </code>{' '}
                    <ExplainLink request={example} text="Explain" />
                  </small>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}

const milliseconds = (time: number): string =>
  time >= 1000 ? `${(time / 1000).toFixed(1)} s` : `${time.toFixed(time < 10 ? 2 : 0)} ms`
