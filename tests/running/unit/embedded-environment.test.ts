// The settings of a server with an embedded database.
import t from 'tap'
import { dumpConfig } from '../../../server/config/dump.ts'
import { loadConfig } from '../../../server/config/load.ts'
import type { EmbeddedDatabase } from '../../../server/postgres/embedded/embedded.ts'
import { withEmbedded } from '../../../server/running/embedded-environment.ts'

const embedded = {
  authenticatorUri: 'postgresql://authenticator:a@127.0.0.1:1/postgres',
  adminUri: 'postgresql://postgres:secret@127.0.0.1:1/postgres',
  secrets: { jwtSecret: 'j'.repeat(40), sessionSecret: 's'.repeat(40) },
} as EmbeddedDatabase

t.test('the log is read as the superuser, unless another login is configured', async (t) => {
  const read = (env: Readonly<Record<string, string>>): string | undefined =>
    withEmbedded(env, loadConfig({ env }).config, embedded, 'keys.json').REALTIME_DATABASE_URL
  t.equal(read({}), embedded.adminUri)
  t.equal(read({ REALTIME_DATABASE_URL: 'postgresql://other@host/postgres' }), 'postgresql://other@host/postgres')
  // What people can print are the settings that they have given.
  t.notMatch(dumpConfig(loadConfig({ env: {} }).config), /secret@/)
})
