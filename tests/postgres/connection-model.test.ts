// Compares a connection with a model of it: random statements, errors, parts and turns. After every step the connection
// is idle or closed, the prepared statements it assumes exist on the server, and nothing has taken effect twice.
import t, { type Test } from 'tap'
import { PipelineQuery } from '../../server/postgres/protocol/pipeline-query.ts'
import type { QueuedTransaction } from '../../server/postgres/protocol/queued-transaction.ts'
import type { PipelinePart } from '../../server/postgres/protocol/pipeline-part.ts'
import { command, forgetStatements, isStaleStatement, runPipeline, StatementError } from '../../server/postgres/protocol/pipeline.ts' // prettier-ignore
import { PipelineClient } from '../../server/postgres/protocol/pipeline-client.ts'
import { createDatabase } from '../support/database.ts'
import { expected, generateTurn, type ModelState, type Step, turnOf } from '../support/connection-model.ts'
import { watchNames } from '../support/pooled-names.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'

const steps = Number(process.env.STEPS ?? 600)
const database = await createDatabase()
t.teardown(() => database.drop())
await database.query(`
  create table ledger (value text);
  create table changing (c0 int);
  insert into changing values (0);
  create sequence ticks;
  create function raise_state(state text, message text) returns text language plpgsql as
    $$ begin raise exception '%', message using errcode = state; end $$;
  create function forget_all() returns text language plpgsql as $$ begin deallocate all; return 'gone'; end $$`)

const seed = testSeed()

type Connected = { readonly client: PipelineClient; readonly faults: readonly string[] }

async function connect(): Promise<Connected> {
  const client = new PipelineClient({ connectionString: database.adminUri }, { statements: 4 })
  client.on('error', () => undefined)
  await client.connect()
  return { client, faults: watchNames(client) }
}

type Outcome = { readonly error: Error | undefined; readonly texts: readonly (string | null)[][] }

/** Runs several turns on one connection; each is sent before the previous one is answered. */
function runTogether(client: PipelineClient, turns: readonly (readonly PipelinePart[])[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  return new Promise((resolve) => {
    const query = new PipelineQuery(client.statements, () => undefined)
    for (const parts of turns) {
      const settle: QueuedTransaction['settle'] = (error, results) => {
        outcomes.push({ error, texts: firstRows(results) })
        if (outcomes.length === turns.length) resolve(outcomes)
      }
      query.add({ parts, settle })
    }
    client.query(query)
  })
}

const firstRows = (results: readonly (readonly (readonly (Buffer | null)[])[])[]): (string | null)[][] =>
  results.map((rows) => (rows[0] ?? []).map((field) => field?.toString() ?? null))

async function runAlone(client: PipelineClient, parts: readonly PipelinePart[]): Promise<Outcome> {
  try {
    return { error: undefined, texts: firstRows(await runPipeline(client, parts, true)) }
  } catch (error) {
    return { error: error as Error, texts: [] }
  }
}

/** Compares one turn with its prediction, and applies its changes to the model. */
function check(t: Test, state: ModelState, steps: readonly (readonly Step[])[], outcome: Outcome, label: string): void {
  const { error } = outcome
  // After an effect, statements that user code has deallocated cannot be predicted.
  if (isStaleStatement(error)) {
    const forgets = steps.flat().some(({ kind }) => kind === 'forget')
    t.ok(state.isForgotten || state.isChanged || forgets, `${label}: no statement was stale`)
    state.apply(steps, error.position)
    return
  }
  const prediction = expected(state, steps)
  if (prediction.error) {
    const { code, position } = prediction.error
    if (code === '57P01') t.ok(error !== undefined, label)
    else t.match(error, { server: { code }, position }, label)
    state.apply(steps, position)
    return
  }
  t.equal(error, undefined, `${label}: ${error instanceof StatementError ? error.server.message : String(error)}`)
  t.strictSame(outcome.texts, prediction.texts, label)
  state.apply(steps, undefined)
}

async function checkConnection(t: Test, client: PipelineClient, state: ModelState, label: string): Promise<void> {
  t.equal(client.getTransactionStatus(), 'I', `${label}: idle`)
  const { rows } = await client.query<{ name: string }>('select name from pg_prepared_statements')
  const skipped = client.statements.names('skipped')
  const names = rows.map(({ name }) => name).filter((name) => !skipped.includes(name)).sort() // prettier-ignore
  const known = [...client.statements.names('prepared')].sort()
  // Statements deallocated by user code are detected at their next use.
  if (state.isForgotten)
    t.ok(names.every((name) => known.includes(name)), `${label}: prepared statements`) // prettier-ignore
  else t.strictSame(known, names, `${label}: prepared statements`)
  const counts = await client.query<{ ledger: number; ticks: number }>(
    'select (select count(*)::int from ledger) as ledger, (select case when is_called then last_value else 0 end::int from ticks) as ticks',
  )
  if (state.isUncertain) {
    Object.assign(state, counts.rows[0], { isUncertain: false })
    return
  }
  t.strictSame(counts.rows, [{ ledger: state.ledger, ticks: state.ticks }], `${label}: each effect happened once`)
  t.equal(firstRows(await runPipeline(client, [[{ text: 'select 7', values: [] }]], false))[0]?.[0], '7', label)
}

for (const together of [false, true]) {
  t.test(together ? 'two to five turns in one pipeline query' : 'one turn after the other', async (t) => {
    const random = seededRandom(together ? seed + 1 : seed)
    await database.query('truncate ledger; alter sequence ticks restart; drop table changing; create table changing (c0 int); insert into changing values (0)') // prettier-ignore
    const state = turnOf.newState()
    let { client, faults } = await connect()
    for (let step = 0; step < steps && t.passing(); step++) {
      const label = `seed ${seed} step ${step}`
      if (random.chance(0.05)) {
        await database.query(`alter table changing add c${++state.columns - 1} int default 0`)
        state.isChanged = true
      }
      const turns = together ? random.some(2, 5, () => generateTurn(random, false)) : [generateTurn(random, true)]
      const sent = turns.map((turn) => turnOf.parts(turn, command))
      const outcomes = together ? await runTogether(client, sent) : [await runAlone(client, sent[0] ?? [])]
      let isLost = false
      for (const [index, outcome] of outcomes.entries()) {
        const turn = turns[index] ?? []
        // No statement after a termination was started.
        if (isLost) t.ok(outcome.error && !(outcome.error instanceof StatementError), `${label}: lost`)
        else check(t, state, turn, outcome, `${label} turn ${index}`)
        isLost ||= state.isTerminated
      }
      if (isLost) {
        await client.end().catch(() => undefined)
        ;({ client, faults } = await connect())
        state.isForgotten = state.isChanged = state.isTerminated = false
        state.isUncertain = true
      } else if (outcomes.some(({ error }) => isStaleStatement(error))) {
        if (together) await forgetStatements(client)
        state.isForgotten = state.isChanged = false
      }
      await checkConnection(t, client, state, label)
      t.strictSame(faults, [], `${label}: a pooler accepts the names`)
    }
    await client.end()
  })
}
