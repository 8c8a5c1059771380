// Bloat, vacuum, indexes, replication slots and long transactions.
import { literal } from '../../text/sql-text.ts'
import type { DatabaseFacts, IndexFacts, TableFacts } from './facts.ts'
import { bytes, percent, type DoctorFinding } from './finding.ts'

const megabyte = 1024 ** 2
/** Below this number, dead rows do not matter. */
const fewRows = 1000
/** An autovacuum is late when there are this many times as many dead rows as it waits for. */
const late = 2
/** Estimates are rough: bloat is reported from this many times the expected size on, and from these sizes on. */
const bloat = { factor: 2, table: 10 * megabyte, index: 10 * megabyte }
/** Indexes that were not used in so many days of statistics. */
const unused = { days: 7, size: megabyte }
/** Transactions until writes stop are about 2 billion. Autovacuum begins at `autovacuum_freeze_max_age`. */
const wraparound = { factor: 1.5, error: 1_000_000_000 }
const seconds = { idle: 300, any: 3600 }
const slotLimit = 1024 * megabyte

function tableFindings(table: TableFacts): DoctorFinding[] {
  const { name, live, dead, modified, vacuumsAt, analyzesAt, size, expectedSize } = table
  const findings: DoctorFinding[] = []
  const common = { area: 'storage', subject: name } as const
  const vacuum = `vacuum (analyze) ${name};`
  if (vacuumsAt === null) {
    findings.push({
      ...common,
      code: 'autovacuum_off',
      level: 'WARN',
      what: 'Autovacuum is switched off for this table.',
      why: 'Its dead rows are never removed, and its statistics become wrong.',
      advice: 'Switch it on again, unless you vacuum the table yourself.',
      fix: `alter table ${name} reset (autovacuum_enabled);`,
    })
  }
  if (dead > fewRows && dead > late * (vacuumsAt ?? 0)) {
    findings.push({
      ...common,
      code: 'dead_rows',
      level: 'WARN',
      what: `${dead} dead rows beside ${live} live ones (${percent(dead, dead + live)})${vacuumsAt === null ? '' : `; autovacuum should begin at ${Math.round(vacuumsAt)}`}.`,
      why: 'Every scan reads them, and the table grows. Autovacuum does not keep up, or something keeps it from removing rows.',
      advice:
        'Vacuum it. If the rows stay, look for long transactions and replication slots; otherwise let autovacuum do more (autovacuum_vacuum_cost_limit).',
      fix: vacuum,
    })
  }
  if (modified > fewRows && modified > late * analyzesAt) {
    findings.push({
      ...common,
      code: 'statistics_outdated',
      level: 'WARN',
      what: `${modified} rows have changed since the table was analyzed.`,
      why: 'The planner chooses by statistics that are no longer true, which makes statements slow all at once.',
      advice: 'Analyze it.',
      fix: `analyze ${name};`,
    })
  }
  if (expectedSize !== null && size > bloat.table && size > bloat.factor * expectedSize) {
    findings.push({
      ...common,
      code: 'table_bloat',
      level: 'WARN',
      what: `${bytes(size)} on disk; its rows need about ${bytes(expectedSize)} (estimated).`,
      why: 'Scans read the empty space, and it fills the memory of the database.',
      advice: 'Rewrite it at a quiet time: VACUUM FULL locks the table; the extension pg_repack does not.',
      fix: `vacuum (full, analyze) ${name};`,
    })
  }
  return findings
}

function indexFindings(index: IndexFacts, statisticsDays: number | null): DoctorFinding[] {
  const { name, table, size, isValid, isOptional, scans, expectedSize } = index
  const common = { area: 'storage', subject: name } as const
  if (!isValid) {
    return [
      {
        ...common,
        code: 'index_invalid',
        level: 'ERROR',
        what: `The index of ${table} is invalid.`,
        why: 'It was left by CREATE INDEX CONCURRENTLY or REINDEX CONCURRENTLY that failed: every write maintains it, no read uses it, and a unique one does not protect.',
        advice:
          'Drop it and create it again, or rebuild it, after mending what made it fail (duplicates, for example).',
        fix: `reindex index concurrently ${name};`,
      },
    ]
  }
  const findings: DoctorFinding[] = []
  if (isOptional && scans === 0 && size > unused.size && statisticsDays !== null && statisticsDays >= unused.days) {
    findings.push({
      ...common,
      code: 'index_unused',
      level: 'INFO',
      what: `No scan in ${Math.floor(statisticsDays)} days; ${bytes(size)}, on ${table}.`,
      why: 'Every write maintains it.',
      advice: 'Drop it, if no rare report and no replica needs it: replicas count their scans themselves.',
      fix: `drop index concurrently ${name};`,
    })
  }
  if (expectedSize !== null && size > bloat.index && size > bloat.factor * expectedSize) {
    findings.push({
      ...common,
      code: 'index_bloat',
      level: 'INFO',
      what: `${bytes(size)} on disk; its entries need about ${bytes(expectedSize)} (estimated), on ${table}.`,
      why: 'It takes more memory, and range scans read more pages.',
      advice: 'Rebuild it; that does not lock the table.',
      fix: `reindex index concurrently ${name};`,
    })
  }
  return findings
}

function wraparoundFindings({ xidAge, multixactAge, settings }: DatabaseFacts): DoctorFinding[] {
  const ages = [
    ['transaction ids', xidAge, Number(settings.autovacuum_freeze_max_age)],
    ['multixact ids', multixactAge, Number(settings.autovacuum_multixact_freeze_max_age)],
  ] as const
  return ages
    .filter(([, age, limit]) => age > wraparound.factor * limit)
    .map(([what, age, limit]): DoctorFinding => ({
      area: 'storage',
      code: 'wraparound',
      subject: what,
      level: age > wraparound.error ? 'ERROR' : 'WARN',
      what: `The oldest row is ${(age / 1e6).toFixed(0)} million ${what} old; autovacuum freezes at ${(limit / 1e6).toFixed(0)} million.`,
      why: 'At about 2,000 million PostgreSQL accepts no more writes.',
      advice:
        'Look for what keeps autovacuum from it: long transactions, replication slots, prepared transactions. Then vacuum.',
      fix: 'vacuum (freeze);',
    }))
}

const slotFindings = ({ slots }: DatabaseFacts): DoctorFinding[] =>
  slots
    .filter(({ isActive, retained, isLost }) => !isActive || isLost || retained > slotLimit)
    .map(({ name, isActive, retained, isLost }): DoctorFinding => ({
      area: 'storage',
      code: 'replication_slot',
      subject: name,
      level: isLost || retained > slotLimit ? 'ERROR' : 'WARN',
      what: isLost
        ? 'The server has removed WAL that it needs.'
        : `${isActive ? 'It is behind' : 'No one reads it'}; the server keeps ${bytes(retained)} of WAL for it.`,
      why: isLost
        ? 'Its replica must be set up again.'
        : 'The WAL, and the dead rows that the replica might still need, are kept until the disk is full.',
      advice:
        'Start its replica again; or drop the slot, if the replica is gone. max_slot_wal_keep_size limits what is kept.',
      ...(isActive ? {} : { fix: `select pg_drop_replication_slot(${literal(name)});` }),
    }))

const transactionFindings = ({ transactions }: DatabaseFacts): DoctorFinding[] =>
  transactions
    .filter(({ state, age }) => age > (state.startsWith('idle in transaction') ? seconds.idle : seconds.any))
    .map(({ pid, user, application, state, age }): DoctorFinding => ({
      area: 'storage',
      code: 'long_transaction',
      level: 'WARN',
      subject: `process ${pid} (${user}, ${application})`,
      what: `Its transaction has been open for ${Math.round(age / 60)} minutes (${state}).`,
      why: 'No row that was deleted since then can be removed, in any table, and its locks are kept.',
      advice: 'End it, and set idle_in_transaction_session_timeout for its role.',
      fix: `select pg_terminate_backend(${pid});`,
    }))

export const storageFindings = (facts: DatabaseFacts): DoctorFinding[] => [
  ...facts.tables.flatMap(tableFindings),
  ...facts.indexes.flatMap((index) => indexFindings(index, facts.statisticsDays)),
  ...wraparoundFindings(facts),
  ...slotFindings(facts),
  ...transactionFindings(facts),
]
