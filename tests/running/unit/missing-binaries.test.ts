// Installations without npm's optional packages: password hashing is loaded at first use, and its absence is reported.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../../server/config/load.ts'
import { missingBinaries } from '../../../server/running/missing-binaries.ts'

const absent = (): never => {
  throw new Error('there is no @node-rs/argon2 for linux-x64 here; install the packages without --omit=optional')
}

t.test('a service with passwords needs the binary of argon2', (t) => {
  t.strictSame(missingBinaries(['rest', 'auth']), [], 'which is installed here')
  t.strictSame(missingBinaries(['rest'], absent), [])
  t.strictSame(missingBinaries(['rest', 'auth'], absent), [
    'Passwords cannot be hashed: there is no @node-rs/argon2 for linux-x64 here; install the packages without ' +
      '--omit=optional. Sign-ins and sign-ups with passwords respond with 500',
  ])
  const loaded = Object.keys(createRequire(import.meta.url).cache)
  t.strictSame(
    loaded.filter((file) => file.endsWith('.node')),
    [],
    'the binary is not loaded for that',
  )
  t.end()
})

t.test('the secrets of sessions are read from a file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-secrets-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'session-secrets')
  const env = { SESSION_SECRETS: `@${file}` }
  await writeFile(file, `${'n'.repeat(32)},${'o'.repeat(40)}\n`)
  t.strictSame(loadConfig({ env }).config.sessionSecrets, ['n'.repeat(32), 'o'.repeat(40)])
  await writeFile(file, `${'n'.repeat(32)},secret`)
  const thrown = t.throws(() => loadConfig({ env }), /SESSION_SECRETS/) as Error
  t.match(thrown.message, 'number 2 of 2 is not')
  t.notMatch(thrown.message, 'nnn', 'messages contain no secrets')
})
