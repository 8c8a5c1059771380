// One request: its steps, statements and plan.
import type { RequestDetails, RequestEntry, RequestStage } from '../../../services/console/request-protocol.ts'
import { consoleApi } from '../../api.ts'
import { PlanView } from '../../explanation/plan-view.tsx'
import { Badge, Dialog, Loading, Problem, Snippet, useLoaded } from '../../parts.tsx'
import { bytesText, timeText } from '../../values.tsx'
import { ExplainLink } from './explain-link.tsx'

type DetailsProps = { readonly entry: RequestEntry; readonly onClose: () => void }

export function Details({ entry, onClose }: DetailsProps) {
  const { value, error } = useLoaded(
    (signal) => consoleApi<RequestDetails>(`requests/${entry.number}`, { signal }),
    [entry.number],
  )
  return (
    <Dialog title={`${entry.method} ${entry.path.split('?', 1)[0]}`} onClose={onClose} isWide>
      <Facts entry={entry} />
      <Problem error={error} />
      {value ? <Steps details={value} /> : error === undefined && <Loading />}
    </Dialog>
  )
}

export const statusKind = (status: number): 'good' | 'plain' | 'warning' | 'bad' =>
  status >= 500 ? 'bad' : status >= 400 ? 'warning' : status >= 300 ? 'plain' : 'good'

const Facts = ({ entry }: { readonly entry: RequestEntry }) => (
  <>
    <Snippet text={`${entry.method} ${entry.path}`} />
    <p>
      <Badge kind={statusKind(entry.status)}>{entry.status}</Badge> as{' '}
      <strong>{entry.role ?? 'an unknown role'}</strong> in {entry.duration} ms
      {entry.rows !== null && `, ${entry.rows} ${entry.rows === 1 ? 'row' : 'rows'}`}
      {entry.bytes !== null && `, ${bytesText(entry.bytes)}`}
      {entry.aborted && ', the client disconnected'}
      <br />
      <small class="faint">
        {timeText(entry.at)} · request id <code>{entry.requestId}</code>
        {entry.route !== null && (
          <>
            {' '}
            · route <code>{entry.route}</code>
          </>
        )}
      </small>
    </p>
    <ExplainLink request={entry} text="Explain it: policies, hidden rows and cost" />
  </>
)

const Steps = ({ details: { entry, stages, waited, plan } }: { readonly details: RequestDetails }) => (
  <>
    <h3>Steps</h3>
    {stages.length === 0 ? (
      <p class="faint">It sent no statements to the database.</p>
    ) : (
      <ol class="stages">
        {stages.map((stage, index) => (
          <Stage key={index} stage={stage} total={Math.max(entry.duration, stage.since + stage.duration)} />
        ))}
      </ol>
    )}
    {waited >= 1 && <p>It waited {waited} ms for a connection of the pool.</p>}
    {plan !== null && (
      <>
        <h3>Plan of the last statement</h3>
        <PlanView plan={plan} />
      </>
    )}
  </>
)

const percent = (part: number, whole: number): string => `${Math.min(100, (100 * part) / Math.max(whole, 0.01))}%`

const Stage = ({ stage, total }: { readonly stage: RequestStage; readonly total: number }) => (
  <li>
    <div class="stage-line" aria-hidden="true">
      <div style={{ marginLeft: percent(stage.since, total), width: percent(stage.duration, total) }} />
    </div>
    <p>
      {stage.duration} ms in the database, after {stage.since} ms{' '}
      {stage.error !== null && <Badge kind="bad">{stage.error}</Badge>}
    </p>
    {stage.statements.map((text, index) => (
      <Snippet key={index} text={text} />
    ))}
  </li>
)
