// Where a service under test keeps the bytes of objects: in a folder, or on an S3 server.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { FileStore } from '../../server/services/storage/backends/file-store.ts'
import { S3Store } from '../../server/services/storage/backends/s3-store.ts'
import type { ObjectStore } from '../../server/services/storage/object-store.ts'
import type { Environment } from '../../server/config/config-sources.ts'
import { s3Credentials, s3Environment, startS3 } from './s3-server.ts'

export type TestBackend = {
  /** Settings of the service. */
  readonly environment: Environment
  /** A handle of its own on the same bytes. */
  readonly store: ObjectStore
  /** The versions that are stored. */
  readonly versions: () => Promise<readonly string[]>
  /** Everything that is stored: paths or keys; in a folder, those of unfinished uploads, too. */
  readonly kept: () => Promise<readonly string[]>
  /** Number of uploads that have begun to write. On S3 that is seen of those that need several parts. */
  readonly unfinished: () => Promise<number>
}

const backends = {
  file: async (t: Test): Promise<TestBackend & { readonly folder: string }> => {
    const folder = t.testdir()
    const filesIn = async (path: string): Promise<string[]> => {
      const all = await readdir(path, { recursive: true, withFileTypes: true })
      return all.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
    }
    const store = new FileStore(folder)
    return {
      environment: { STORAGE_FILE_BACKEND_PATH: folder },
      store,
      versions: () => versionsIn(store),
      kept: () => filesIn(folder),
      unfinished: async () => (await filesIn(join(folder, 'incoming'))).length,
      folder,
    }
  },
  s3: async (t: Test): Promise<TestBackend & { readonly folder: string }> => {
    // The SDK of the service in this process reads them there.
    Object.assign(process.env, s3Credentials)
    const server = await startS3(t)
    const { bucket, endpoint } = server
    const store = await S3Store.open({ bucket, endpoint, region: 'us-east-1' })
    t.teardown(() => store.close())
    return {
      environment: s3Environment(server),
      store,
      versions: () => versionsIn(store),
      kept: () => server.keys(),
      unfinished: () => Promise.resolve(server.unfinished.count),
      folder: '',
    }
  },
}

export type BackendName = keyof typeof backends

let chosen: BackendName = 'file'

/** Decides on the backend of the services that the tests of this process start from now on. */
export function chooseBackend(name: BackendName): void {
  chosen = name
}

/** How often a test of conflicts repeats them: the database decides them, so the slower store needs fewer. */
export const conflictRounds = (): number => (chosen === 'file' ? 5 : 1)

/** Defines a test whose result does not depend on where the bytes are: it runs with the folder only. */
export function testWithFolder(t: Test, title: string, body: (t: Test) => Promise<void>): void {
  if (chosen === 'file') void t.test(title, body)
}

async function versionsIn(store: ObjectStore): Promise<string[]> {
  const versions: string[] = []
  for await (const { version } of store.list()) versions.push(version)
  return versions.sort()
}

/** Starts the chosen backend for the duration of a test, without any objects. */
export const startBackend = (t: Test): Promise<TestBackend & { readonly folder: string }> => backends[chosen](t)
