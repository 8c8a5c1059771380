// Read replicas with Debian's PostgreSQL, directly and behind Debian's PgBouncer. Run it with `npm run test:cluster`, which
// installs what is missing if root runs it.
//
// `PAIRS` is the number of writes with a read after each (default 100000; behind PgBouncer a tenth of it), `SECONDS` the
// duration of each measurement (default 5). With `-- --quick` it takes some minutes; with `-- --only=direct` or `pgbouncer`
// it tests only one of them.
import { startChecks } from './checks.ts'
import { checkPooledReplicas } from './pooled-replicas.ts'
import { checkReplicas } from './replicas.ts'

const isQuick = process.argv.includes('--quick')
const only = process.argv.find((word) => word.startsWith('--only='))?.slice('--only='.length)
const pairs = Number(process.env.PAIRS ?? (isQuick ? 2000 : 100_000))
const seconds = Number(process.env.SECONDS ?? (isQuick ? 1 : 5))

const { check, end } = startChecks()
if (only !== 'pgbouncer') await checkReplicas({ check, pairs, seconds })
if (only !== 'direct') await checkPooledReplicas({ check, pairs: pairs / 10, requests: isQuick ? 500 : 5000 })
end()
