// Sign-ins while the processes that hash passwords are killed or get no processor time, and clients hang up: nobody gets in with another's password.
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, codeOf, newAddress, passwordGrant, sessionOf } from '../support/auth.ts'
import { childProcesses } from '../support/child-processes.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { hashing } from '../support/hash-processes.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const env = {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  AUTH_ACCOUNT_LIMIT: '100000',
  AUTH_ACCOUNT_TOTAL_LIMIT: '100000',
  AUTH_ADDRESS_LIMIT: '100000',
}
const { url } = await startApplication(t, database.authenticatorUri, env, { passwordHasher: undefined })
const ask = askAuth(url)

type Account = { readonly id: string; readonly email: string; readonly password: string }

async function account(password: string): Promise<Account> {
  const email = newAddress()
  return { id: sessionOf(await ask('POST', '/signup', { body: { email, password } })).user.id, email, password }
}

const hashProcesses = (): Promise<readonly number[]> => childProcesses(process.pid, hashing)

const accounts = [await account('of Ann, who is first'), await account('of Bob, who is second')] as const

/** Two users sign in with their own and the other's password, and clients hang up, during five faults. */
async function attack(t: Test, fault: (round: number) => Promise<void>): Promise<void> {
  const answers: Record<number, number> = {}
  const answered = (): number => Object.values(answers).reduce((sum, count) => sum + count, 0)
  let isOver = false
  const caller = async (own: Account, { password }: Account): Promise<void> => {
    while (!isOver) {
      const answer = await passwordGrant(ask, own.email, password)
      answers[answer.status] = (answers[answer.status] ?? 0) + 1
      if (answer.status === 200) {
        if (password !== own.password) t.fail('a password of another user')
        if (sessionOf(answer).user.id !== own.id) t.fail('a session of another user')
      } else if (answer.status === 400) {
        if (password === own.password || codeOf(answer) !== 'invalid_credentials') t.fail(answer.text)
      } else if (answer.status !== 500 || /SIGKILL|process|hashing/.test(answer.text)) t.fail(answer.text)
    }
  }
  const hangUp = async ({ email, password }: Account): Promise<void> => {
    while (!isOver) {
      await fetch(`${url}/auth/v1/token?grant_type=password`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ email, password }),
        signal: AbortSignal.timeout(5),
      }).catch(() => undefined)
      // Seldom enough for the queue, in which they keep their places.
      await pause(400)
    }
  }
  const callers = accounts.flatMap((own) => accounts.map((other) => caller(own, other)))
  const hangingUp = hangUp(accounts[0])
  for (let round = 0; round < 5; round++) {
    const enough = answered() + 4
    t.ok(await until(() => answered() >= enough), 'requests are answered')
    await fault(round)
  }
  isOver = true
  await Promise.all([...callers, hangingUp])
  t.ok((answers[200] ?? 0) > 0 && (answers[400] ?? 0) > 0, JSON.stringify(answers))
  for (const { email, password } of accounts) t.equal((await passwordGrant(ask, email, password)).status, 200)
}

const skip = process.platform !== 'linux'

t.test('two users, killed processes and clients that hang up', { skip }, (t) =>
  attack(t, async (round) => {
    await pause(round * 3)
    for (const pid of await hashProcesses()) process.kill(pid, 'SIGKILL')
  }),
)

t.test('two users, processes without processor time and clients that hang up', { skip }, (t) =>
  attack(t, async (round) => {
    const halted = await hashProcesses()
    t.ok(halted.length > 0)
    for (const pid of halted) process.kill(pid, 'SIGSTOP')
    await pause(700 + round * 3)
    for (const pid of halted) process.kill(pid, 'SIGCONT')
  }),
)

t.test('passwords and hashes that nobody expects', async (t) => {
  const service = accounts[0]
  for (const password of ['', '\0', '\ud800', 'x'.repeat(100_000), '$argon2id$v=19$m=19456,t=2,p=1$YQ$YQ']) {
    const answer = await passwordGrant(ask, service.email, password)
    t.equal(answer.status, 400, JSON.stringify(password.slice(0, 20)))
  }
  // Such as an import may contain: hashes that are none, or would take all memory.
  for (const hash of ['', 'x', '$argon2id$v=19$m=9999999,t=99,p=99$YQ$YQ', '$2b$31$' + 'a'.repeat(53)]) {
    await database.query('update auth.users set encrypted_password = $1 where id = $2', [hash, accounts[1].id])
    t.equal(codeOf(await passwordGrant(ask, accounts[1].email, accounts[1].password)), 'invalid_credentials', hash)
  }
  t.equal((await passwordGrant(ask, service.email, service.password)).status, 200)
})
