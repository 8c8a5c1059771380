// `rowhouse users` as a program: the commands of its guide, and a password that is typed on a terminal.
import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { verifyHash } from '../../../server/services/accounts/password-hash.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { command } from '../../support/program.ts'
import { readmeSection, withProgram } from '../../support/readme-section.ts'
import { until } from '../../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const env = { PATH: process.env.PATH, TERM: 'xterm', DATABASE_URL: database.authenticatorUri }

t.test('the commands of the guide make an administrator', async (t) => {
  const script = withProgram(readmeSection('users'), command())
  const { stdout } = await promisify(execFile)('/bin/sh', ['-e', '-c', script], { env })
  const [, password = ''] = /^Password: (\S+)$/m.exec(stdout) ?? []
  t.match(stdout, /\nboss@example\.org has the app_role admin\.\n/)
  t.match(stdout, /\napp_role +admin\n/)
  const { rows } = await database.query('select app_role, email_confirmed_at, encrypted_password from auth.users')
  t.match(rows, [{ app_role: 'admin', email_confirmed_at: Date }])
  t.ok(verifyHash(String(rows[0]?.encrypted_password), password))
})

/** Runs `reset-password` on a pseudo-terminal, and types the texts when it asks. */
async function typed(
  ...texts: readonly [string, string]
): Promise<{ readonly code: number | null; readonly text: string }> {
  const words = [...command(), 'users', 'reset-password', 'boss@example.org'].map((word) => `'${word}'`).join(' ')
  const args = process.platform === 'linux' ? ['-qec', words, '/dev/null'] : ['-q', '/dev/null', '/bin/sh', '-c', words]
  const child = spawn('script', args, { env })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  await until(() => text.includes('New password: '))
  child.stdin.write(texts[0])
  await until(() => text.includes('The same again: ') || child.exitCode !== null)
  child.stdin.write(texts[1])
  const code = await ended
  return { code, text }
}

t.test('a terminal is asked twice, and shows nothing of the password', async (t) => {
  const password = 'correct horse battery'
  const { code, text } = await typed(`${password}\r`, `${password}\r`)
  t.equal(code, 0, text)
  t.match(text, /Changed the password of boss@example\.org/)
  t.notMatch(text, 'horse')
  const { rows } = await database.query('select encrypted_password from auth.users')
  t.ok(verifyHash(String(rows[0]?.encrypted_password), password))

  const differing = await typed('first password\r', 'other password\r')
  t.match(differing, { code: 1, text: /The two passwords differ\./ })
  const cancelled = await typed('first password\r', '\u0003')
  t.match(cancelled, { code: 1, text: /Cancelled: no password was entered\./ })
  const after = await database.query('select encrypted_password from auth.users')
  t.strictSame(after.rows, rows, 'nothing has changed')
})
