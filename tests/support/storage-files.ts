// The files of the storage service, and whether they agree with its rows.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { TestDatabase } from './database.ts'
import { until } from './until.ts'

export type StoredVersions = {
  /** Versions whose bytes are in the store, sorted. */
  readonly versions: () => Promise<readonly string[]>
  /** Number of files of uploads that have not arrived completely. */
  readonly incoming?: () => Promise<number>
}

/** @param folder of the objects */
export function filesOf(folder: string): Required<StoredVersions> {
  const names = async (path: string): Promise<string[]> =>
    (await readdir(join(folder, path), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
  return {
    incoming: async () => (await names('incoming')).length,
    versions: async () => (await names('objects')).map((name) => name.slice(0, 36)).sort(),
  }
}

/**
 * Requires that each row has bytes, each version in the store a row, and nothing is left of unfinished uploads.
 *
 * @param storage its database, and what is stored or the folder of the objects
 */
export async function requireAgreement(
  t: Test,
  {
    database,
    ...storage
  }: { readonly database: Pick<TestDatabase, 'query'> } & ({ readonly folder: string } | StoredVersions),
): Promise<void> {
  const { versions, incoming = () => Promise.resolve(0) } = 'versions' in storage ? storage : filesOf(storage.folder)
  const named = async (): Promise<string[]> =>
    (
      await database.query(
        'select version from storage.objects union all select version from rowhouse.resumable_parts order by 1',
      )
    ).rows.map(({ version }) => String(version))
  const state = async () => ({ stored: await versions(), named: await named(), incoming: await incoming() })
  // Bytes are removed after the response, and a request may go on after its client has disconnected.
  const isSettled = async (): Promise<boolean> => {
    const { stored, named: wanted, incoming: unfinished } = await state()
    return stored.join() === wanted.join() && unfinished === 0
  }
  if (await until(isSettled)) {
    t.pass('rows and bytes agree, and nothing is left of unfinished uploads')
    return
  }
  const { stored, named: wanted, incoming: unfinished } = await state()
  t.strictSame([stored, unfinished], [wanted, 0])
}
