// Predicts what a connection does with random turns, as far as it is predictable.
import type { PipelinePart } from '../../server/postgres/protocol/pipeline-part.ts'
import type { ErrorPosition } from '../../server/postgres/protocol/statement-error.ts'
import type { PipelineStatement } from '../../server/rest/database.ts'
import type { Random } from './seeded-random.ts'

/** One statement of a turn. `begin`, `commit` and `rollback` form a transaction of several parts. */
export type Step =
  | { readonly kind: 'echo'; readonly text: number; readonly value: string }
  | { readonly kind: 'insert' | 'count' | 'tick' | 'changing' | 'forget' | 'terminate' }
  | { readonly kind: 'begin' | 'commit' | 'rollback' }
  | { readonly kind: 'fail'; readonly text: string; readonly values: readonly string[]; readonly code: string }

/** Error codes that PL/pgSQL may raise: one for each class of PostgreSQL's codes, and those of stale statements. */
const raisable = [
  '02000', '03000', '08006', '09000', '0A000', '0B000', '0F000', '0L000', '0P000', '0Z000', '20000', '21000', '22012',
  '23505', '24000', '25P02', '26000', '27000', '28000', '2B000', '2D000', '2F000', '34000', '38000', '39000', '3B000',
  '3D000', '3F000', '40001', '42P05', '42501', '44000', '53100', '54000', '55P03', '57014', '58000', '72000', 'F0000',
  'HV000', 'P0001', 'XX000', 'PT401',
] as const // prettier-ignore
const stalePlan = 'cached plan must not change result type'

function generateFailure(random: Random): Step {
  const fail = (code: string, text: string, ...values: string[]): Step => ({ kind: 'fail', text, values, code })
  const state = random.pick(raisable)
  return random.pick([
    fail(state, 'select raise_state($1, $2)', state, random.pick(['no', stalePlan])),
    fail('0A000', 'select raise_state($1, $2)', '0A000', stalePlan),
    fail('26000', 'select raise_state($1, $2)', '26000', 'prepared statement "x" does not exist'),
    fail('42P05', 'select raise_state($1, $2)', '42P05', 'no'),
    fail('42601', 'select from from'),
    fail('42703', `select unknown${random.below(3)}`),
    fail('22012', 'select 1 / $1::int', '0'),
    fail('22P02', 'select $1::int + 1', 'x'),
    fail('40001', 'do $$ begin raise serialization_failure; end $$'),
  ])
}

function generateStep(random: Random): Step {
  if (random.chance(0.1)) return generateFailure(random)
  if (random.chance(0.01)) return { kind: 'terminate' }
  if (random.chance(0.03)) return { kind: 'forget' }
  if (random.chance(0.4)) return { kind: 'echo', text: random.below(8), value: `v${random.below(100)}` }
  return random.pick<Step>([{ kind: 'insert' }, { kind: 'count' }, { kind: 'tick' }, { kind: 'changing' }])
}

/** A turn of one part, a transaction of two, or (if `several`) of up to three parts. */
export function generateTurn(random: Random, several: boolean): Step[][] {
  const part = (): Step[] => random.some(1, 4, () => generateStep(random))
  if (random.chance(0.3)) {
    const end: Step = random.chance(0.5) ? { kind: 'commit' } : { kind: 'rollback' }
    return [[{ kind: 'begin' }, ...part()], [end]]
  }
  return random.some(1, several ? 3 : 1, part)
}

export type ModelState = {
  ledger: number
  ticks: number
  columns: number
  /** User code has deallocated statements, a table has changed: statements may be stale. */
  isForgotten: boolean
  isChanged: boolean
  /** Parts behind a failed one may or may not have been stale: their changes are unknown. */
  isUncertain: boolean
  /** A turn has ended the connection. */
  isTerminated: boolean
  /** Applies the changes of a turn that failed at a position, or succeeded. */
  readonly apply: (turn: readonly (readonly Step[])[], failure: ErrorPosition | undefined) => void
}

type Prediction = {
  readonly texts: (string | null)[][]
  readonly error?: { readonly code: string; readonly position: ErrorPosition }
}

/** Values and immutable expressions are evaluated when a statement is bound. */
const isBoundAt = (step: Step): boolean =>
  step.kind === 'terminate' || (step.kind === 'fail' && step.text.includes('raise'))

/** The rows of a turn's statements, or the first error. */
export function expected(state: ModelState, turn: readonly (readonly Step[])[]): Prediction {
  const texts: (string | null)[][] = []
  let { ledger, ticks } = state
  for (const [part, steps] of turn.entries()) {
    for (const [statement, step] of steps.entries()) {
      const failure = step.kind === 'fail' ? step.code : step.kind === 'terminate' ? '57P01' : undefined
      if (failure !== undefined) {
        return { texts, error: { code: failure, position: { part, statement, isBound: isBoundAt(step) } } }
      }
      if (step.kind === 'echo') texts.push([`${step.text}${step.value}`])
      else if (step.kind === 'insert') texts.push([String(++ledger)])
      else if (step.kind === 'count') texts.push([String(ledger)])
      else if (step.kind === 'tick') texts.push([String(++ticks)])
      else if (step.kind === 'changing') texts.push(Array.from({ length: state.columns }, () => '0'))
      else if (step.kind === 'forget') texts.push(['gone'])
      else texts.push([])
    }
  }
  return { texts }
}

function apply(state: ModelState, turn: readonly (readonly Step[])[], failure: ErrorPosition | undefined): void {
  const mayBeStale = state.isForgotten || state.isChanged || turn.flat().some(({ kind }) => kind === 'forget')
  let isOpen = false
  let isAborted = false
  let pending = 0
  for (const [part, steps] of turn.entries()) {
    const isBehind = failure !== undefined && part > failure.part
    let inserted = 0
    let hasFailed = false
    for (const [statement, step] of steps.entries()) {
      hasFailed ||= failure?.part === part && statement >= failure.statement
      hasFailed ||= isBehind && (step.kind === 'fail' || step.kind === 'terminate')
      const isHere = isBehind || (failure?.statement === statement && failure.isBound)
      if (hasFailed && isHere && step.kind === 'terminate') state.isTerminated = true
      if (hasFailed) break
      if (step.kind === 'tick') state.ticks++
      if (step.kind === 'insert') inserted++
      if (step.kind === 'forget') state.isForgotten = true
      if (step.kind === 'begin') isOpen = true
      if (step.kind === 'commit' && !isAborted) state.ledger += pending
      if (step.kind === 'commit' || step.kind === 'rollback') isOpen = isAborted = false
    }
    state.isUncertain ||= isBehind && mayBeStale && steps.some(({ kind }) => kind === 'tick' || kind === 'insert')
    if (state.isTerminated) return
    if (isOpen && hasFailed) isAborted = true
    else if (isOpen) pending += inserted
    else if (!hasFailed) state.ledger += inserted
  }
}

/** Random turns, and the initial state of the model. */
export const turnOf = {
  newState(): ModelState {
    const state: ModelState = {
      ledger: 0,
      ticks: 0,
      columns: 1,
      isForgotten: false,
      isChanged: false,
      isUncertain: false,
      isTerminated: false,
      apply: (turn, failure) => apply(state, turn, failure),
    }
    return state
  },
  /** The turn in the form that is sent. `command` builds a transaction command. */
  parts: (
    turn: readonly (readonly Step[])[],
    command: (text: string, more?: { readonly hasNoEffect: boolean }) => PipelineStatement,
  ): PipelinePart[] => turn.map((steps) => steps.map((step) => statementOf(step, command))),
}

function statementOf(
  step: Step,
  command: (text: string, more?: { readonly hasNoEffect: boolean }) => PipelineStatement,
): PipelineStatement {
  const harmless = (text: string, ...values: string[]): PipelineStatement => ({ text, values, hasNoEffect: true })
  switch (step.kind) {
    case 'echo':
      return harmless(`select '${step.text}' || $1`, step.value)
    case 'insert':
      return harmless("with new as (insert into ledger values ('x') returning 1) select (select count(*) from ledger) + (select count(*) from new)") // prettier-ignore
    case 'count':
      return harmless('select count(*) from ledger')
    case 'tick':
      return { text: "select nextval('ticks')", values: [] }
    case 'changing':
      return harmless('select * from changing')
    case 'forget':
      return { text: 'select forget_all()', values: [] }
    case 'terminate':
      return { text: 'select pg_terminate_backend(pg_backend_pid())', values: [] }
    case 'begin':
      return command('BEGIN', { hasNoEffect: true })
    case 'commit':
      return command('COMMIT', { hasNoEffect: true })
    case 'rollback':
      return command('ROLLBACK', { hasNoEffect: true })
    case 'fail':
      return { text: step.text, values: step.values }
  }
}
