// The entry point `rowhouse/postgres`.
export { connect, type ConnectedDatabase, type ConnectOptions } from './connected-database.ts'
export type { ReplicaEvent } from './replicas/replica.ts'
