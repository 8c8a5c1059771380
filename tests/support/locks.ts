// Queries for locks in the database of a test. Other test files use the same cluster at the same time.

/** SQL: the sessions that wait for a row that another transaction has changed or locked. */
export const rowWaits = `select from pg_locks join pg_stat_activity using (pid)
  where not granted and locktype = 'transactionid' and datname = current_database()`
