// When a schedule is due: its syntax, compared with another implementation, and the days on which clocks change.
import { Cron } from 'croner'
import t, { type Test } from 'tap'
import { schedulesDatabase } from '../support/schedules.ts'
import { seededRandom } from '../support/seeded-random.ts'

const database = await schedulesDatabase(t)
const seed = Number(process.env.SEED ?? 1)
const generated = Number(process.env.CASES ?? 800)

const hint = "Use cron format (e.g. 5 4 * * *), or interval format '[1-59] seconds'"

/** The due times of schedules after times, in one statement. */
async function dueTimes(
  cases: readonly { readonly schedule: string; readonly after: string; readonly zone: string }[],
  count = 1,
): Promise<readonly (readonly string[])[]> {
  const { rows } = await database.query(
    `with recursive given as (
       select number, text ->> 'schedule' as schedule, text ->> 'zone' as zone, (text ->> 'after')::timestamptz as after
       from jsonb_array_elements($1::jsonb) with ordinality as given (text, number)
     ), due as (
       select number, schedule, zone, 1 as nth, rowhouse.next_run(schedule, after, zone) as at from given
       union all
       select number, schedule, zone, nth + 1, rowhouse.next_run(schedule, at, zone) from due where nth < $2 and at < 'infinity'
     )
     select array_agg(case when at < 'infinity' then to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') else 'never' end order by nth) as times
     from due group by number order by number`,
    [JSON.stringify(cases), count],
  )
  return rows.map(({ times }) => times as string[])
}

t.test('schedules that are accepted', async (t) => {
  const after = '2026-03-04T05:06:07Z'
  const cases: readonly (readonly [schedule: string, due: string])[] = [
    ['* * * * *', '2026-03-04T05:07:00Z'],
    ['*/5 * * * *', '2026-03-04T05:10:00Z'],
    ['0 0 * * 1-5', '2026-03-05T00:00:00Z'],
    ['0 1 * * 0', '2026-03-08T01:00:00Z'],
    ['0 1 * * 7', '2026-03-08T01:00:00Z'],
    ['0 13 2 6 *', '2026-06-02T13:00:00Z'],
    ['30 3 * * sat', '2026-03-07T03:30:00Z'],
    ['0 12 * Feb Mon', '2027-02-01T12:00:00Z'],
    ['0 11 $ * *', '2026-03-31T11:00:00Z'],
    ['0 0 29 2 *', '2028-02-29T00:00:00Z'],
    ['0 0 30 2 *', 'never'],
    ['5-10/2,40 6 * * *', '2026-03-04T06:05:00Z'],
    ['0 0 13 * fri', '2026-03-06T00:00:00Z'],
    ['0 0 */13 * fri', '2026-03-27T00:00:00Z'],
    ['0 22-2 * * *', '2026-03-04T22:00:00Z'],
    ['  0\t7  * * *', '2026-03-04T07:00:00Z'],
    ['# every day\n0 7 * * *', '2026-03-04T07:00:00Z'],
    ['@hourly', '2026-03-04T06:00:00Z'],
    ['@daily', '2026-03-05T00:00:00Z'],
    ['@midnight', '2026-03-05T00:00:00Z'],
    ['@weekly', '2026-03-08T00:00:00Z'],
    ['@monthly', '2026-04-01T00:00:00Z'],
    ['@yearly', '2027-01-01T00:00:00Z'],
    ['@annually', '2027-01-01T00:00:00Z'],
    ['@restart', 'never'],
    ['@reboot', 'never'],
    ['1 second', '2026-03-04T05:06:08Z'],
    [' 30 sEcOnDs ', '2026-03-04T05:06:37Z'],
    ['59 seconds', '2026-03-04T05:07:06Z'],
    ['17  seconds ', '2026-03-04T05:06:24Z'],
  ]
  const due = await dueTimes(cases.map(([schedule]) => ({ schedule, after, zone: 'UTC' })))
  for (const [index, [schedule, expected]] of cases.entries()) t.equal(due[index]?.[0], expected, schedule)
})

t.test('schedules that are refused, with the words of pg_cron', async (t) => {
  const refused = [
    ...['', 'a'.repeat(1000), '* * * *', '5 secondc', '50 seconds c', '2 second ', '*/0 10 * * *', '-1 * * * *'],
    ...[
      '*/-1 10 * * *',
      '*/60 10 * * *',
      '* * * 13 *',
      '* * * 0 *',
      '*/5000000000 10 * * *',
      '-1 seconds',
      '0 seconds',
    ],
    ...[
      '60 seconds',
      '10000000000 seconds',
      '@restar',
      '@Hourly',
      '0 11 $foo * *',
      '0 24 * * *',
      '60 0 * * *',
      '0 0 0 * *',
    ],
    ...['0 0 32 * *', '0 0 * * 8', '1/5 * * * *', '5- * * * *', '1, * * * *', '0 0 * foo *', '0 0\n* * *'],
  ]
  for (const schedule of refused) {
    await t.rejects(
      database.query('select cron.schedule($1, $2)', [schedule, 'select 1']),
      { message: `invalid schedule: ${schedule}`, hint, code: '22023' },
      JSON.stringify(schedule.slice(0, 40)),
    )
  }
  t.equal((await database.query('select from cron.job')).rowCount, 0)
})

t.test('text without an effect is named', async (t) => {
  const { rows } = await database.query(
    "select (rowhouse.parse_schedule(text)).ignored from unnest(array['0 0 12 * * ?', '5!x 0 * * *', '@daily now', '0 0 $ * *', '* * * * * ']) as text",
  )
  t.strictSame(
    rows.map(({ ignored }) => ignored),
    ['?', '!x', 'now', null, null],
  )
})

t.test('generated schedules are due when another implementation says so', async (t) => {
  const { chance, integer: between } = seededRandom(seed)
  const element = (low: number, high: number): string => {
    const first = between(low, high)
    const last = between(first, high)
    const kind = between(0, 4)
    if (kind === 0) return `${first}-${last}`
    // The other implementation has no steps that are longer than the range.
    if (kind === 1 && last > first) return `${first}-${last}/${between(1, last - first)}`
    return String(first)
  }
  const field = (low: number, high: number, stars: number): string => {
    if (chance(stars)) return '*'
    return Array.from({ length: between(1, 3) }, () => element(low, high)).join(',')
  }
  const cases = Array.from({ length: generated }, () => ({
    schedule: [field(0, 59, 0.3), field(0, 23, 0.3), field(1, 31, 0.5), field(1, 12, 0.6), field(0, 6, 0.5)].join(' '),
    after: new Date(Date.UTC(2024, 0, 1) + between(0, 5 * 366 * 1440) * 60_000 + between(0, 59) * 1000).toISOString(),
    zone: 'UTC',
  }))
  const due = await dueTimes(cases, 4)
  let compared = 0
  for (const [index, { schedule, after }] of cases.entries()) {
    const runs = new Cron(schedule, { timezone: 'UTC', domAndDow: false }).nextRuns(4, new Date(after))
    const expected = runs.map((run) => run.toISOString().replace('.000', ''))
    const own = (due[index] ?? []).filter((time) => time !== 'never').slice(0, expected.length)
    if (JSON.stringify(own) !== JSON.stringify(expected))
      t.strictSame(own, expected, `${schedule} after ${after}, SEED=${seed}`)
    compared += expected.length
  }
  t.ok(compared > 3.5 * generated, `${compared} times are the same`)
})

t.test('the days on which clocks change', async (t) => {
  const cases: readonly (readonly [schedule: string, zone: string, after: string, due: readonly string[]])[] = [
    // 02:00 to 03:00 does not exist on 29 March 2026.
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z']],
    ['15,45 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00:00Z', '2026-03-30T00:15:00Z']],
    ['*/30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-30T00:00:00Z', '2026-03-30T00:30:00Z']],
    ['30 * * * *', 'Europe/Berlin', '2026-03-29T00:00Z', ['2026-03-29T00:30:00Z', '2026-03-29T01:30:00Z']],
    // 02:00 to 03:00 occurs twice on 25 October 2026.
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z']],
    [
      '30 * * * *',
      'Europe/Berlin',
      '2026-10-25T00:00Z',
      ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z', '2026-10-25T02:30:00Z'],
    ],
    // Midnight does not exist.
    ['0 0 * * *', 'America/Sao_Paulo', '2018-11-03T12:00Z', ['2018-11-04T03:00:00Z', '2018-11-05T02:00:00Z']],
    // 30 December 2011 does not exist.
    [
      '0 12 * * *',
      'Pacific/Apia',
      '2011-12-29T12:00Z',
      ['2011-12-29T22:00:00Z', '2011-12-30T10:00:00Z', '2011-12-30T22:00:00Z'],
    ],
  ]
  for (const [schedule, zone, after, expected] of cases) {
    const [due] = await dueTimes([{ schedule, zone, after }], expected.length)
    t.strictSame(due, expected, `${schedule} in ${zone}`)
  }
})

t.test('around changes of clocks, generated schedules are due as a look at each minute says', async (t: Test) => {
  const { integer: between } = seededRandom(seed)
  const changes: readonly (readonly [zone: string, day: string])[] = [
    ['Europe/Berlin', '2026-03-29'],
    ['Europe/Berlin', '2026-10-25'],
    ['America/New_York', '2026-03-08'],
    ['America/New_York', '2026-11-01'],
    ['Australia/Lord_Howe', '2026-04-05'],
    ['Australia/Lord_Howe', '2026-10-04'],
    ['America/Sao_Paulo', '2018-11-04'],
    ['Atlantic/Azores', '2024-10-27'],
    ['Atlantic/Azores', '2024-03-31'],
    ['Asia/Kolkata', '2026-05-05'],
  ]
  for (const [zone, day] of changes) {
    // The clocks of a zone change within 15 hours of midnight in Greenwich.
    const start = Date.parse(`${day}T00:00Z`) - 18 * 3_600_000
    const minutes = localMinutes(zone, start, 44 * 60)
    const cases = Array.from({ length: 6 }, (_, index) => {
      const minute = index % 3 === 0 ? '*/20' : `${between(0, 59)}`
      const hour = index % 2 === 0 ? '*' : `${between(0, 3)},${between(0, 23)}`
      return { schedule: `${minute} ${hour} * * *`, zone, after: new Date(start).toISOString() }
    })
    const due = await dueTimes(cases, 300)
    const end = new Date(start + 42 * 3_600_000).toISOString()
    for (const [index, { schedule }] of cases.entries()) {
      const expected = expectedTimes(schedule, start, minutes).filter((time) => time < end)
      const own = (due[index] ?? []).filter((time) => time < end)
      t.strictSame(own, expected.slice(0, own.length), `${schedule} in ${zone} from ${day}`)
      t.ok(own.length === expected.length || own.length === 300, 'to the end')
    }
  }
})

/** What clocks show, as minutes since 1970 without a zone, for each minute from a time on. */
function localMinutes(zone: string, start: number, count: number): readonly number[] {
  const format = new Intl.DateTimeFormat('en-CA', {
    ...{ timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' },
    hourCycle: 'h23',
  })
  return Array.from({ length: count }, (_, index) => {
    const part = Object.fromEntries(
      format.formatToParts(start + index * 60_000).map(({ type, value }) => [type, value]),
    )
    return Date.parse(`${part.year}-${part.month}-${part.day}T${part.hour}:${part.minute}Z`) / 60_000
  })
}

/** The due times of a schedule of minutes and hours, by walking through the minutes. */
function expectedTimes(schedule: string, start: number, shown: readonly number[]): string[] {
  const [minute = '', hour = ''] = schedule.split(' ')
  const matches = (local: number): boolean => {
    const [m, h] = [local % 60, Math.floor(local / 60) % 24]
    const isMinute = minute === '*/20' ? m % 20 === 0 : m === Number(minute)
    return isMinute && (hour === '*' || hour.split(',').map(Number).includes(h))
  }
  const isRepeating = schedule.startsWith('*') || hour === '*'
  let latest = (shown[0] ?? 0) - 1
  const times: string[] = []
  for (const [index, local] of shown.entries()) {
    const passed = isRepeating ? [local] : Array.from({ length: Math.max(local - latest, 0) }, (_, n) => latest + 1 + n)
    if (index > 0 && passed.some(matches))
      times.push(new Date(start + index * 60_000).toISOString().replace('.000', ''))
    latest = Math.max(latest, local)
  }
  return times
}
