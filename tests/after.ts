import { stopCluster } from './support/cluster.ts'

await stopCluster()
