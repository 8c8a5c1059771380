// The PostgreSQL that tests run on: the embedded one, or the installation that ROWHOUSE_TEST_POSTGRES names.
import { execFile } from 'node:child_process'
import { chown, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { binariesIn, findBinaries, type Binaries } from '../../server/postgres/embedded/binaries.ts'
import { makeCluster } from '../../server/postgres/embedded/cluster.ts'
import { asUser, type SystemUser } from '../../server/postgres/embedded/system-user.ts'

/** The programs in the folder ROWHOUSE_TEST_POSTGRES, which contains `bin`, such as /usr/lib/postgresql/15. */
export async function testBinaries(user: SystemUser | null): Promise<Binaries> {
  const folder = process.env.ROWHOUSE_TEST_POSTGRES ?? ''
  return folder === '' ? findBinaries(user) : binariesIn(folder, user)
}

/**
 * Creates a cluster whose superuser is `postgres` with the password `postgres`. Returns its folder.
 *
 * @param folder an existing one that `user` can enter
 */
export async function createCluster(folder: string, binaries: Binaries, user: SystemUser | null): Promise<string> {
  const password = 'postgres'
  if (binaries.majorVersion >= 17) {
    return makeCluster({ dataDir: folder, binaries, user, password, log: () => undefined })
  }
  // The embedded database has a locale that older versions do not have.
  const [cluster, file] = [join(folder, 'postgres'), join(folder, 'password')]
  await mkdir(cluster)
  await writeFile(file, password)
  if (user) for (const path of [cluster, file]) await chown(path, user.uid, user.gid)
  const options = ['--username=postgres', `--pwfile=${file}`, '--auth=scram-sha-256', '--encoding=UTF8']
  const locale = ['--lc-collate=C', '--lc-ctype=C.UTF-8', '--lc-messages=C']
  await promisify(execFile)(binaries.initdb, [`--pgdata=${cluster}`, '--no-sync', ...options, ...locale], asUser(user))
  await rm(file)
  return cluster
}
