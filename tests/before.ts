import { startCluster } from './support/cluster.ts'

await startCluster()
process.exit(0)
