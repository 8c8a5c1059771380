// Backups of the embedded database with what restores them, and replicas.
import type { BackupReport, ReplicaState } from '../../../services/console/operation-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Badge, Button, Empty, Loading, Problem, Snippet, Table, useLoaded } from '../../parts.tsx'
import { dateTimeText } from '../../values.tsx'

export function Backups() {
  const { value, error, isLoading, reload } = useLoaded(
    async (signal) => ({
      backups: await consoleApi<BackupReport>('operations/backups', { signal }),
      replicas: await consoleApi<readonly ReplicaState[]>('operations/replicas', { signal }),
    }),
    [],
  )
  return (
    <>
      <div class="bar">
        <Button isBusy={isLoading} onClick={reload}>
          Refresh
        </Button>
      </div>
      <Problem error={error} />
      {value ? (
        <>
          <BackupList report={value.backups} />
          <ReplicaList replicas={value.replicas} />
        </>
      ) : (
        error === undefined && <Loading />
      )}
    </>
  )
}

const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`

function BackupList({ report: { isEmbedded, folder, backups, archivedUntil } }: { readonly report: BackupReport }) {
  const first = backups[0]
  if (!isEmbedded) {
    return (
      <Empty title="The database is your own">
        <p>Its backups are made by the tools of PostgreSQL, or by who hosts it.</p>
      </Empty>
    )
  }
  if (!first) {
    return (
      <Empty title="No backups yet">
        <p>
          {folder === null ? (
            <>
              Set <code>BACKUP_DIR</code> to a folder, and back up the database and its files, while the server runs or
              not:
            </>
          ) : (
            <>
              <code>{folder}</code> has no backups. Make the first one:
            </>
          )}
        </p>
        <Snippet text={folder === null ? 'rowhouse backup --to ./backups' : 'rowhouse backup'} />
      </Empty>
    )
  }
  return (
    <>
      <h2>Backups</h2>
      <p class="small faint">
        In <code>{folder}</code>
      </p>
      <Table head={['Backup', 'State of', 'Version', 'Size']}>
        {backups.toReversed().map(({ name, stoppedAt, majorVersion, bytes }) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
            </td>
            <td>{dateTimeText(stoppedAt)}</td>
            <td>PostgreSQL {majorVersion}</td>
            <td>{mebibytes(bytes)}</td>
          </tr>
        ))}
      </Table>
      <h3>Restore</h3>
      <p>
        {archivedUntil === null ? (
          'There is no archive of the log: each backup can be restored, but no time between them.'
        ) : (
          <>
            Any time from <strong>{dateTimeText(first.stoppedAt)}</strong> to{' '}
            <strong>{dateTimeText(archivedUntil)}</strong> can be restored. Stop the server first.
          </>
        )}
      </p>
      <Snippet text={`rowhouse restore --to '${archivedUntil ?? backups.at(-1)?.stoppedAt ?? ''}'`} />
    </>
  )
}

const ReplicaList = ({ replicas }: { readonly replicas: readonly ReplicaState[] }) => (
  <>
    <h2>Replicas</h2>
    {replicas.length === 0 ? (
      <p class="faint">
        All reads run on the primary. <code>DATABASE_REPLICA_URLS</code> names replicas for them.
      </p>
    ) : (
      <Table head={['Replica', 'State', 'Lag', 'Reads', 'Run again on the primary']}>
        {replicas.map(({ name, isUsable, lagSeconds, reads, reruns }) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
            </td>
            <td>
              <Badge kind={isUsable ? 'good' : 'bad'}>{isUsable ? 'used' : 'not used'}</Badge>
            </td>
            <td>{lagSeconds === null ? 'unknown' : `${lagSeconds.toFixed(1)} s`}</td>
            <td>{reads}</td>
            <td>{reruns}</td>
          </tr>
        ))}
      </Table>
    )}
  </>
)
