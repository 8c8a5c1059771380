// Calls of functions of a running service.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createClient } from '@supabase/supabase-js'
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import type { Environment } from '../../server/config/config-sources.ts'
import { startApplication, type Application } from './application.ts'
import { createMigratedDatabase, type MigratedDatabase } from './database.ts'

type Ended = Pick<Test, 'teardown'>

export type FunctionServer = Application & {
  readonly database: MigratedDatabase
  /** The folder of functions; empty without one. */
  readonly folder: string
}

/** Files of a folder: texts by path. */
export type Files = Readonly<Record<string, string>>

/** Writes files into a new folder, for the duration of a test. @returns its path */
export async function folderWith(t: Ended, files: Files): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-functions-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await writeFiles(folder, files)
  return folder
}

export async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}

/** Starts the service with a database of its own. @param env settings */
export async function startFunctionServer(t: Ended, env: Environment): Promise<FunctionServer> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const application = await startApplication(t, database.authenticatorUri, { FUNCTIONS_DIR: 'none', ...env })
  // The port is chosen only now.
  await application.reload({ FUNCTIONS_PUBLIC_URL: application.url })
  return { ...application, database, folder: env.FUNCTIONS_DIR ?? '' }
}

/** A client with a key, and the token of a user. */
export const clientWith = (url: string, key: string, token?: string): ReturnType<typeof createClient> =>
  createClient(url, key, {
    // Node 20 has no WebSocket.
    realtime: { transport: WebSocket as never },
    ...(token === undefined ? {} : { accessToken: () => Promise.resolve(token) }),
  })
