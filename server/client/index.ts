// `rowhouse/client`: helpers for supabase-js, for requests that its builders cannot express. They run in browsers too, and
// import nothing of the server.
export { batch } from './batch.ts'
export type { Added, Batch, BatchData, BatchError, BatchResult } from './batch.ts'
export { importRows, type ImportError, type ImportResult } from './import-rows.ts'
export type { ClientError, ClientResult, Query, RestClient } from './rest-client.ts'
