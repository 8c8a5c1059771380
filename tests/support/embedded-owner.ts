// A process that owns an embedded database, for tests that end it in various ways. Its argument is the folder.
// It prints a line when the database runs. `exit` on standard input makes it exit without stopping the database.
import { watchTermination } from '../../server/running/termination.ts'
import { startEmbedded } from '../../server/postgres/embedded/embedded.ts'

const [, , dataDir = ''] = process.argv
const termination = watchTermination()
process.stdin.once('data', () => process.exit(3))
const embedded = await startEmbedded({ dataDir, log: () => undefined, signal: termination.signal })
console.log(JSON.stringify({ port: embedded.port }))
const signal = await termination.received
await embedded.stop()
console.log(signal)
process.exit(0)
