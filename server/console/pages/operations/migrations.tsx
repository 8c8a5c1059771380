// Migrations of the server and of the project.
import type { MigrationFile, MigrationReport } from '../../../services/console/operation-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Badge, Button, Empty, Loading, Problem, Snippet, Table, useLoaded } from '../../parts.tsx'
import { href } from '../../router.ts'
import { dateTimeText } from '../../values.tsx'

export function Migrations() {
  const { value, error, isLoading, reload } = useLoaded(
    (signal) => consoleApi<MigrationReport>('operations/migrations', { signal }),
    [],
  )
  return (
    <>
      <div class="bar">
        <Button isBusy={isLoading} onClick={reload}>
          Refresh
        </Button>
        <a href={href(['sql'])}>Write a migration</a>
      </div>
      <Problem error={error} />
      {value ? <Report report={value} /> : error === undefined && <Loading />}
    </>
  )
}

function Report({ report: { folder, files, seeds, ignored, server } }: { readonly report: MigrationReport }) {
  const isPending = server.pending.length > 0 || files.some(({ state }) => state === 'pending')
  return (
    <>
      {isPending && (
        <>
          <p>Apply what is pending:</p>
          <Snippet text="rowhouse migrate" />
        </>
      )}
      {files.some(({ needsAttention }) => needsAttention) && (
        <>
          <p>A file was changed after it was applied. What differs, and what to do about it:</p>
          <Snippet text="rowhouse migrate status" />
        </>
      )}
      <h2>Of the project</h2>
      {files.length === 0 ? (
        <Empty title="No migrations yet">
          <p>
            {folder === null ? (
              <>
                The project has no folder of migrations: <code>rowhouse migrate new NAME</code> creates it.
              </>
            ) : (
              <>
                <code>{folder}</code> has no files. <code>rowhouse migrate new NAME</code> creates one, or{' '}
                <a href={href(['sql'])}>save one</a> from the SQL page.
              </>
            )}
          </p>
        </Empty>
      ) : (
        <>
          <p class="small faint">
            In <code>{folder}</code>
          </p>
          <Table head={['File', 'State', 'Since']}>
            {files.map((file) => (
              <tr key={file.name}>
                <td>
                  <code>{file.name}</code>
                </td>
                <td>
                  <Badge kind={kindOf(file)}>{stateText(file)}</Badge>
                </td>
                <td class="faint">{file.appliedAt === null ? '' : dateTimeText(file.appliedAt)}</td>
              </tr>
            ))}
          </Table>
        </>
      )}
      {seeds.map(({ file, state }) => (
        <p key={file}>
          <code>{file}</code> <Badge kind={state === 'applied' ? 'good' : 'warning'}>{state}</Badge>{' '}
          {state !== 'applied' && (
            <span class="faint">
              <code>rowhouse migrate --seed</code> applies it
            </span>
          )}
        </p>
      ))}
      {ignored.map((name) => (
        <p key={name} class="small faint">
          <code>{name}</code> is not applied: it is not named like <code>001_name.sql</code>.
        </p>
      ))}
      <h2>Of the server</h2>
      <p>
        {server.applied.length} applied
        {server.pending.length > 0 && (
          <>
            , {server.pending.length} <Badge kind="warning">pending</Badge>: {server.pending.join(', ')}
          </>
        )}
        .
      </p>
    </>
  )
}

const kindOf = ({ state, needsAttention }: MigrationFile): 'good' | 'warning' | 'bad' =>
  needsAttention ? 'bad' : state.startsWith('applied') ? 'good' : 'warning'

const texts: Readonly<Record<string, string>> = {
  'out of order': 'pending, older than an applied file',
  edited: 'changed after it was applied',
  extended: 'extended after it was applied',
  'file missing': 'applied, the file is missing',
}

const stateText = ({ state, done, statements }: MigrationFile): string =>
  state === 'incomplete' ? `incomplete: ${done} of ${statements} statements` : (texts[state] ?? state)
