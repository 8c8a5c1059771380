// Tables of requests to `/storage/v1` and their responses.
import type { Test } from 'tap'
import type { AskStorage, StorageCallerName } from './storage.ts'

export type StorageRow = readonly [
  name: string,
  request: readonly [
    method: string,
    path: string,
    body?: unknown,
    /** `service_role` by default; null: without credentials. */
    as?: StorageCallerName | null,
    headers?: Readonly<Record<string, string>>,
  ],
  /** The JSON body. */
  body: unknown,
  /** By default 400 for errors, otherwise 200. */
  status?: number,
]

/** Sends the requests of a table one at a time, and compares status and body of each response. */
export async function exchangeRows(t: Test, ask: AskStorage, rows: readonly StorageRow[]): Promise<void> {
  for (const [name, [method, path, body, as = 'service_role', headers = {}], wanted, status] of rows) {
    const answer = await ask(method, path, {
      ...(as === null ? {} : { as }),
      ...(body === undefined ? {} : { body }),
      headers,
    })
    const isFault = typeof wanted === 'object' && wanted !== null && 'statusCode' in wanted
    t.strictSame(
      { status: answer.status, body: answer.json ?? answer.text },
      { status: status ?? (isFault ? 400 : 200), body: wanted },
      name,
    )
  }
}
