// Queries for locks in the database of a test. Other test files use the same cluster at the same time.

const here = 'database = (select oid from pg_database where datname = current_database())'

/** SQL: the locks that keep the gates of shared connections open, with the pids of their sessions. */
export const gates = `select pid from pg_locks
  where locktype = 'advisory' and objid = 0 and objsubid = 2 and mode = 'ExclusiveLock' and granted and ${here}`

/** SQL: terminates the sessions that keep gates open. */
export const endKeepers = `select pg_terminate_backend(pid) from (${gates}) as keepers`

/** SQL: the sessions that wait for a row that another transaction has changed or locked. */
export const rowWaits = `select from pg_locks join pg_stat_activity using (pid)
  where not granted and locktype = 'transactionid' and datname = current_database()`
