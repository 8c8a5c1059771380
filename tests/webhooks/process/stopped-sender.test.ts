// A process that sends calls is suspended for longer than its lease, with calls in flight: another one sends them, with the same
// ids, and what the first one learns when it goes on changes nothing.
import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createMigratedDatabase } from '../../support/database.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startSendingProcess } from '../../support/sending-process.ts'
import { until } from '../../support/until.ts'

/** Calls in flight when the process is suspended, and in all. */
const [held, calls] = [10, 200]

t.test('another process takes over', { timeout: 240_000 }, async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const unanswered: ServerResponse[] = []
  let answers = false
  const { received, port } = await startReceiver(t, (_call, response) => {
    if (answers) response.writeHead(200).end()
    else unanswered.push(response)
  })
  await database.query(`
    create table public.orders (id int primary key);
    create trigger hook after insert on public.orders referencing new table as changed_rows for each statement
      execute function rowhouse.webhook('http://127.0.0.1:${port}/hook', '{"timeout_ms": 30000}')`)
  const insert = (first: number, last: number): Promise<unknown> =>
    database.query(`insert into public.orders select generate_series(${first}, ${last})`)
  const stored = async (): Promise<Record<string, unknown>[]> =>
    (await database.query('select id::text, state, attempts, last_status from rowhouse.calls order by number')).rows
  const areDelivered = async (): Promise<boolean> => (await stored()).every(({ state }) => state === 'delivered')

  const processes = [
    await startSendingProcess(t, database.authenticatorUri),
    await startSendingProcess(t, database.authenticatorUri),
  ] as const
  await insert(1, held)
  t.ok(await until(() => unanswered.length === held))
  const [one, other] = (await processes[0].isSending()) ? processes : [processes[1], processes[0]]
  // A suspended process does not end by itself.
  t.teardown(() => one.program.kill('SIGCONT'))
  one.program.kill('SIGSTOP')
  answers = true
  await insert(held + 1, calls)
  const since = performance.now()
  t.ok(await until(areDelivered))
  t.ok(await other.isSending())
  t.comment(`taken over and sent after ${Math.round(performance.now() - since)} ms`)
  const before = await stored()
  t.equal(received.length, calls + held, 'those in flight were sent twice, the others once')

  for (const response of unanswered) response.writeHead(500).end()
  one.program.kill('SIGCONT')
  await insert(calls + 1, calls + 20)
  t.ok(await until(areDelivered))
  t.ok(await until(async () => !(await one.isSending())), 'it has noticed')
  t.ok(await other.isSending())
  await pause(1000)
  t.strictSame((await stored()).slice(0, before.length), before, 'what the other one has recorded stays')
  t.equal(received.length, calls + held + 20, 'nothing is sent again')

  const idsOf = new Map<number, Set<unknown>>()
  for (const { body, headers } of received) {
    const { record } = JSON.parse(body) as { readonly record: { readonly id: number } }
    idsOf.set(record.id, (idsOf.get(record.id) ?? new Set()).add(headers['webhook-id']))
  }
  t.equal(idsOf.size, calls + 20)
  t.strictSame(
    [...idsOf].filter(([, ids]) => ids.size > 1),
    [],
    'no call has two ids',
  )
})
