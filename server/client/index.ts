// `rowhouse/client`: helpers for supabase-js, for requests that its builders cannot express. They run in browsers too, and
// import nothing of the server.
export { importRows, type ImportError, type ImportResult } from './import-rows.ts'
export type { ClientError, ClientResult, Query, RestClient } from './rest-client.ts'
