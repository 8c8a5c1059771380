// The functions of the project, with their calls.
import type { FunctionEntry, FunctionReport } from '../../../services/console/function-protocol.ts'
import { Figure, Figures } from '../../figures.tsx'
import { MissingProcesses } from './missing-processes.tsx'
import { Badge, Empty, Snippet, Table } from '../../parts.tsx'
import { href } from '../../router.ts'
import { durationText } from '../../values.tsx'

export const FunctionList = ({ report }: { readonly report: FunctionReport }) => (
  <>
    {report.problem !== null && (
      <p class="problem" role="alert">
        {report.problem}
      </p>
    )}
    {report.url !== null && (
      <p>
        Calls are passed on to <code>{report.url}</code>, after their token is checked.
      </p>
    )}
    {report.folder !== null && (
      <p class="small faint">
        In <code>{report.folder}</code>
      </p>
    )}
    {report.notes.map((note) => (
      <p key={note}>
        <Badge kind="warning">note</Badge> {note}
      </p>
    ))}
    <Figures>
      <Figure name="Calls in progress" value={report.running} />
      {report.workers && (
        <>
          <Figure name="Worker processes" value={report.workers.workers} />
          <Figure name="Started" value={report.workers.started} />
          <Figure name="Killed" value={report.workers.killed} />
        </>
      )}
    </Figures>
    <MissingProcesses count={report.missing} />
    {report.functions.length === 0 ? (
      report.problem === null && <NoFunctions />
    ) : (
      <Table head={['Function', 'Compiles', 'Token', 'Calls', 'Errors', 'Average']}>
        {report.functions.map((entry) => (
          <FunctionRow key={entry.name} entry={entry} />
        ))}
      </Table>
    )}
  </>
)

const NoFunctions = () => (
  <Empty title="No functions yet">
    <p>
      A function is a folder with an <code>index.ts</code> in <code>functions/</code> or{' '}
      <code>supabase/functions/</code> of the project. This creates one:
    </p>
    <Snippet text="rowhouse functions new hello" />
  </Empty>
)

const FunctionRow = ({
  entry: { name, entrypoint, verifyJwt, calls, milliseconds, fault },
}: {
  readonly entry: FunctionEntry
}) => (
  <tr>
    <td>
      <a href={href(['functions', name])}>{name}</a>
      <br />
      <code class="small">{entrypoint ?? 'of another server'}</code>
    </td>
    <td class="fault">
      {entrypoint === null ? (
        <span class="faint">unknown</span>
      ) : fault ? (
        <>
          <Badge kind="bad">no</Badge> <span class="small">{fault.detail.split('\n', 1)[0]}</span>
        </>
      ) : (
        <Badge kind="good">yes</Badge>
      )}
    </td>
    <td>{verifyJwt ? 'required' : <Badge kind="warning">not checked</Badge>}</td>
    <td>{calls.answered + calls.failed + calls.refused + calls.aborted}</td>
    <td>
      {calls.failed > 0 ? <Badge kind="bad">{calls.failed}</Badge> : 0}
      {calls.refused > 0 && <span class="small faint"> {calls.refused} refused</span>}
      {calls.aborted > 0 && <span class="small faint"> {calls.aborted} hung up</span>}
    </td>
    <td>{milliseconds === null ? '' : durationText(milliseconds)}</td>
  </tr>
)
