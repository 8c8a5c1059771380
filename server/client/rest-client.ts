// The parts of supabase-js that the helpers use. They are described by their shape, so that this package depends on none
// of its versions: a `SupabaseClient`, its `schema(…)` and a `PostgrestClient` all fit.

/** What a query of supabase-js resolves to. */
export type ClientResult<Data = unknown> =
  | { readonly data: Data; readonly error: null; readonly status: number }
  | { readonly data: null; readonly error: ClientError; readonly status: number }

/** The error of a response, as supabase-js reports it. */
export type ClientError = {
  readonly message: string
  readonly details: string
  readonly hint: string
  readonly code: string
}

/** A query of supabase-js that is ready to be sent: awaiting it sends it. */
export type Query<Result = ClientResult> = PromiseLike<Result>

/** A client of supabase-js or postgrest-js. */
export type RestClient = {
  from(relation: string): { insert(values: object): Query }
}
