// What statements returned: rows, tags, plans, notices, and the error that ended the run.
import { useState } from 'preact/hooks'
import type { SqlResult, SqlRun } from '../../../services/console/sql-protocol.ts'
import { milliseconds, PlanView } from '../../explanation/plan-view.tsx'
import { Badge, Button, Copy } from '../../parts.tsx'

type ResultsProps = { readonly run: SqlRun; readonly onShow: (position: number) => void }

export function Results({ run, onShow }: ResultsProps) {
  const { results, error, notices, noticesCut, role, outcome } = run
  return (
    <section class="results" aria-label="Results" aria-live="polite">
      <p class="bar">
        <Badge kind={outcome === 'committed' ? 'warning' : 'plain'}>{outcome}</Badge>
        {role !== '' && (
          <span class="faint">
            as <code>{role}</code>
          </span>
        )}
      </p>
      {error && (
        <div class="problem" role="alert">
          <p>
            {error.code !== null && <code>{error.code}</code>} {error.message}
          </p>
          {error.detail !== null && <p>{error.detail}</p>}
          {error.hint !== null && <p class="hint">{error.hint}</p>}
          {error.position !== null && <ShowButton position={error.position} onShow={onShow} />}
        </div>
      )}
      {notices.length > 0 && (
        <ul class="notices">
          {notices.map(({ severity, message }, index) => (
            <li key={index}>
              <Badge kind={severity === 'WARNING' ? 'warning' : 'plain'}>{severity.toLowerCase()}</Badge> {message}
            </li>
          ))}
          {noticesCut && <li class="faint">Further notices were left out.</li>}
        </ul>
      )}
      {results.map((result, index) => (
        <Result key={index} result={result} isOnly={results.length === 1} />
      ))}
    </section>
  )
}

const ShowButton = ({ position, onShow }: Pick<ResultsProps, 'onShow'> & { readonly position: number }) => (
  <Button onClick={() => onShow(position)}>Show the place</Button>
)

function Result({ result, isOnly }: { readonly result: SqlResult; readonly isOnly: boolean }) {
  const { sql, line, tag, columns, rows, isCut, time, plan } = result
  return (
    <article class="result">
      <p class="bar small">
        {!isOnly && (
          <code class="statement" title={sql}>
            {line}: {sql.replace(/\s+/g, ' ').slice(0, 80)}
          </code>
        )}
        <span class="faint">
          {tag ?? `first ${rows.length} rows`}, {milliseconds(time)}
        </span>
        {isCut && <Badge kind="warning">there are more rows</Badge>}
        {columns && rows.length > 0 && (
          <>
            <Copy label="Copy CSV" text={csvOf(result)} />
            <Copy label="Copy JSON" text={jsonOf(result)} />
          </>
        )}
      </p>
      {plan !== null && <PlanView plan={plan} />}
      {columns && columns.length > 0 && <Rows columns={columns} rows={rows} />}
    </article>
  )
}

/** Rows that are drawn at first: more would make long results slow to open. */
const firstRows = 200

type RowsProps = { readonly columns: NonNullable<SqlResult['columns']>; readonly rows: SqlResult['rows'] }

function Rows({ columns, rows }: RowsProps) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? rows : rows.slice(0, firstRows)
  return (
    <>
      <div class="table rows" tabIndex={0} role="region" aria-label="Rows">
        <table>
          <thead>
            <tr>
              {columns.map(({ name, type }, index) => (
                <th key={index} scope="col">
                  {name} <small class="faint">{type}</small>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, index) => (
              <tr key={index}>
                {row.map((value, column) => (
                  <td key={column}>{value ?? <em class="faint">null</em>}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length === 0 && <p class="faint">No rows.</p>}
      {shown.length < rows.length && <Button onClick={() => setWhole(true)}>Show all {rows.length} rows</Button>}
    </>
  )
}

function quoted(value: string | null): string {
  if (value === null) return ''
  return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

/** As COPY writes CSV: NULL is empty, and an empty text is quoted. */
const csvOf = ({ columns, rows }: SqlResult): string =>
  [(columns ?? []).map(({ name }) => name), ...rows].map((row) => row.map(quoted).join(',')).join('\n')

const jsonOf = ({ columns, rows }: SqlResult): string =>
  JSON.stringify(
    rows.map((row) => Object.fromEntries(row.map((value, index) => [columns?.[index]?.name ?? index, value]))),
    null,
    2,
  )
