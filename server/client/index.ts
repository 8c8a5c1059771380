// `rowhouse/client`: helpers for supabase-js, for requests that its builders cannot express. They run in browsers too, and
// import nothing of the server.
export { importRows, type ImportError, type ImportResult } from './import-rows.ts'
export { batch } from './batch.ts'
export type { Added, Batch, BatchData, BatchError, BatchResult } from './batch.ts'
export type { ClientError, ClientResult, Query, RestClient } from './rest-client.ts'
export { pages, PageError } from './pages.ts'
export type { PageQuery, RowOf } from './pages.ts'
export { errorPath } from './error-path.ts'
export { rows, RowsError } from './rows.ts'
export { resumingTransport, type SocketConstructor } from './resuming.ts'
