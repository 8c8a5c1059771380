// The setting db-pool-sharing: which statements share connections, counted while everything is trusted to be brief.
import t from 'tap'
import { detailsOf, signUp } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { countSharedRuns, trustAllStatements } from '../support/sharing.ts'
import { until } from '../support/until.ts'

trustAllStatements()
const shared = countSharedRuns()

const report = { manufacturer: 'Opel', model: 'Astra', year: 2001, mileage: 90_000, price: 3000, lat: 48, lng: 11 }

for (const [sharing, reads, writes] of [
  ['all', true, true],
  ['reads', true, false],
  ['none', false, false],
] as const) {
  t.test(`db-pool-sharing = ${sharing}`, async (t) => {
    const database = await createMigratedDatabase()
    t.teardown(database.drop)
    const { call } = await startApplication(t, database.authenticatorUri, {
      SESSION_SECRETS: 's'.repeat(32),
      DB_POOL_SHARING: sharing,
      PGRST_DB_POOL: '4',
    })
    const user = await signUp(call, 'ann@example.org')
    const { access_token: token } = detailsOf<{ access_token: string }>(await user.call('POST', '/auth/token'))
    const headers = { Authorization: `Bearer ${token}` }
    const rest = { ...report, user_id: user.id }
    const round = async (): Promise<void> => {
      const answers = await Promise.all([
        ...Array.from({ length: 4 }, () => user.call('GET', '/report')),
        ...Array.from({ length: 4 }, () => user.call('POST', '/report', { body: report })),
        ...Array.from({ length: 4 }, () => call('GET', '/rest/v1/profiles?select=id', { headers })),
        ...Array.from({ length: 4 }, () => call('POST', '/rest/v1/reports', { headers, body: rest })),
      ])
      for (const { status, text } of answers) t.ok([200, 201].includes(status), text)
    }
    const before = { ...shared }
    if (sharing === 'none') for (let time = 0; time < 5; time++) await round()
    else {
      // The first writes wait for no gate: they have connections of their own.
      const isShared = (): boolean => shared.reads > before.reads && (!writes || shared.writes > before.writes)
      t.ok(await until(async () => (await round(), isShared())))
      for (let time = 0; time < 4; time++) await round()
    }
    t.equal(shared.reads > before.reads, reads, 'reads share connections')
    t.equal(shared.writes > before.writes, writes, 'writes share connections')
  })
}
