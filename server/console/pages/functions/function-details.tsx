// One function: why it does not compile, calling it, and what it logs.
import type { FunctionEntry, FunctionLogLine, FunctionLogs } from '../../../services/console/function-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Badge, Problem, Snippet } from '../../parts.tsx'
import { usePolled } from '../../polling.ts'
import { timeText } from '../../values.tsx'
import { CallForm } from './call-form.tsx'
import { MissingProcesses } from './missing-processes.tsx'

/** Milliseconds between two looks. */
const pauseTime = 1500

export const FunctionDetails = ({
  entry: { name, entrypoint, verifyJwt, fault },
}: {
  readonly entry: FunctionEntry
}) => (
  <>
    <p>
      <code>{entrypoint ?? 'of another server'}</code>{' '}
      {verifyJwt ? <Badge>needs a token</Badge> : <Badge kind="warning">callable without a token</Badge>}
    </p>
    {fault && (
      <section class="problem" role="alert">
        <p>It does not compile: {fault.message}</p>
        <Snippet text={fault.detail} />
      </section>
    )}
    <CallForm name={name} />
    {entrypoint !== null && <Logs name={name} />}
  </>
)

function Logs({ name }: { readonly name: string }) {
  const { value, error } = usePolled(
    (signal) => consoleApi<FunctionLogs>(`functions/${encodeURIComponent(name)}/logs`, { signal }),
    [name],
    pauseTime,
  )
  return (
    <>
      <h2 id="function-log">Log</h2>
      <Problem error={error} />
      {value?.lines.length === 0 && <p class="faint">What it logs appears here, as long as the server runs.</p>}
      <MissingProcesses count={value?.missing ?? 0} />
      {value && value.lines.length > 0 && (
        <ol class="function-log" aria-labelledby="function-log" tabIndex={0}>
          {value.lines.toReversed().map((line, index) => (
            <Line key={value.lines.length - index} line={line} />
          ))}
        </ol>
      )}
    </>
  )
}

const kinds = { debug: 'plain', info: 'plain', warn: 'warning', error: 'bad' } as const

const Line = ({ line: { at, level, requestId, message } }: { readonly line: FunctionLogLine }) => (
  <li>
    <span class="small faint">{timeText(at)}</span> <Badge kind={kinds[level]}>{level}</Badge>{' '}
    <code class="message">{message}</code>
    {requestId !== null && (
      <>
        {' '}
        <span class="small faint">
          request <code>{requestId}</code>
        </span>
      </>
    )}
  </li>
)
