// `rowhouse serve` with its own database: access tokens are signed with a key of the data folder, without any setting.
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import t from 'tap'
import { askAuth, signUp } from '../../support/auth.ts'
import { startProgram } from '../../support/program.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'rowhouse-auth-'))
t.teardown(() => rm(dataDir, { recursive: true, force: true }))

t.test('a key is generated, kept private, and used', async (t) => {
  const program = startProgram(t, { DATA_DIR: dataDir, GOTRUE_MAILER_AUTOCONFIRM: 'true' })
  await program.line(({ event }) => event === 'listening')
  const file = join(dataDir, 'jwt-keys.json')
  t.equal((await stat(file)).mode & 0o777, 0o600)
  const [key] = JSON.parse(await readFile(file, 'utf8')) as { kid: string; d: string }[]
  const url = program.url()
  const session = await signUp(askAuth(url))
  t.match(decodeProtectedHeader(session.access_token), { alg: 'ES256', kid: key?.kid })
  const jwks = createRemoteJWKSet(new URL(`${url}/auth/v1/.well-known/jwks.json`))
  t.equal((await jwtVerify(session.access_token, jwks)).payload.sub, session.user.id)
  const headers = { Authorization: `Bearer ${session.access_token}` }
  t.match(await program.call('get', '/rest/v1/profiles?select=id', { headers }), {
    status: 200,
    body: [{ id: session.user.id }],
  })
  t.notOk(program.written().includes(key?.d ?? ''), 'the private key is not logged')
})
