// The privileges that a planned request needs: for which command on which columns of which relation.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { PlannedFilter, PlannedLogicTree } from '../../rest/plan/field.ts'
import type { MutatePlan } from '../../rest/plan/mutate-plan.ts'
import type { CrudPlan } from '../../rest/plan/plan.ts'
import { sourceCte, type ReadPlan } from '../../rest/plan/read-plan.ts'

export type Command = 'select' | 'insert' | 'update' | 'delete'
export const commands: readonly Command[] = ['select', 'insert', 'update', 'delete']

/** The columns that a command uses; `*` are all of them. Empty for a deletion, and if only rows are counted. */
export type Uses = Map<Command, Set<string>>

export type Need = { readonly relation: QualifiedIdentifier; readonly uses: Uses }

const keyOf = ({ schema, name }: QualifiedIdentifier): string => JSON.stringify([schema, name])

/** Collects the columns of each relation. */
class Needs {
  readonly #needs = new Map<string, Need>()

  add(relation: QualifiedIdentifier, command: Command, columns: readonly string[]): void {
    const key = keyOf(relation)
    const need = this.#needs.get(key) ?? { relation, uses: new Map<Command, Set<string>>() }
    this.#needs.set(key, need)
    const known = need.uses.get(command) ?? new Set<string>()
    need.uses.set(command, known)
    for (const name of columns) known.add(name)
  }

  get all(): readonly Need[] {
    return [...this.#needs.values()]
  }
}

/** What a plan needs, the relation of the request first. The relations that a function uses are unknown. */
export function needsOf(plan: CrudPlan): readonly Need[] {
  const needs = new Needs()
  if (plan.kind === 'mutate') addMutation(plan.mutate, needs)
  addRead(plan.read, needs)
  return needs.all
}

/** Whether the policies for reading also apply to a write: it refers to columns of existing rows, or returns columns. */
export const readsRows = (mutate: MutatePlan): boolean =>
  mutate.returning.length > 0 || (mutate.kind === 'insert' ? mutate.onConflict !== null : mutate.where.length > 0)

function addMutation(mutate: MutatePlan, needs: Needs): void {
  const { into } = mutate
  if (mutate.kind !== 'delete') {
    needs.add(
      into,
      mutate.kind,
      mutate.columns.map(({ name }) => name),
    )
  } else needs.add(into, 'delete', [])
  if (mutate.kind === 'insert' && mutate.onConflict?.resolution === 'merge-duplicates') {
    needs.add(
      into,
      'update',
      mutate.columns.map(({ name }) => name),
    )
  }
  const conflict = mutate.kind === 'insert' ? (mutate.onConflict?.columns ?? []) : []
  const read = [...mutate.returning, ...mutate.where.flatMap(columnsOf), ...conflict]
  if (readsRows(mutate)) needs.add(into, 'select', read)
}

function addRead(read: ReadPlan, needs: Needs): void {
  if (read.from.name !== sourceCte || read.from.schema !== '') {
    const selected = read.select.length === 0 && read.embeds.length === 0 ? ['*'] : []
    needs.add(read.from, 'select', [
      ...selected,
      ...read.select.map(({ field }) => (field.fullRow ? '*' : field.name)),
      ...read.where.flatMap(columnsOf),
      ...read.order.flatMap((term) => (term.kind === 'field' ? [term.field.name] : [])),
    ])
  }
  for (const { left, right } of read.joinConditions) {
    for (const { relation, column } of [left, right]) {
      if (relation.schema !== '' && relation.name !== sourceCte) needs.add(relation, 'select', [column])
      else if (relation.name === read.fromAlias) needs.add(read.from, 'select', [column])
    }
  }
  for (const embed of read.embeds) addRead(embed, needs)
}

function columnsOf(tree: PlannedLogicTree): string[] {
  if (tree.kind === 'logic') return tree.operands.flatMap(columnsOf)
  const filter: PlannedFilter = tree.filter
  return filter.kind === 'field' ? [filter.field.name] : []
}
