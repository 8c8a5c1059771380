// The plan of a read: a tree of relations, the root and its embeds.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { Relationship } from '../../catalogue/relationship.ts'
import type { RowRange } from '../request/range.ts'
import type { AggregateFunction, JoinType } from '../request/select.ts'
import type { GroupConditions, GroupingSql, PlannedDistinct } from '../extensions/distinct/grouping.ts'
import type { FieldFilter, PlannedLogicTree, PlannedOrderTerm, PlannedSelectField } from './field.ts'

/** Name of the CTE with the result of a mutation or a function. The root of such a plan reads from it. */
export const sourceCte = 'pgrst_source'

/** `left.column = right.column`. */
export type JoinCondition = {
  readonly left: { readonly relation: QualifiedIdentifier; readonly column: string }
  readonly right: { readonly relation: QualifiedIdentifier; readonly column: string }
}

/** A field that a spread adds to its parent. */
export type SpreadSelectField = {
  readonly name: string
  readonly aggregate: AggregateFunction | null
  readonly aggregateCast: string | null
  readonly alias: string | null
}

/** An item that an embed adds to its parent's select list. */
export type RelationSelectField =
  | {
      readonly kind: 'json'
      readonly name: string
      readonly aggregateAlias: string
      readonly mode: 'object' | 'array'
      /** Whether it selects nothing (`table()`), so that it is joined but not in the response. */
      readonly empty: boolean
    }
  | { readonly kind: 'spread'; readonly fields: readonly SpreadSelectField[]; readonly aggregateAlias: string }

export type Spread =
  | { readonly kind: 'to-one' }
  | {
      readonly kind: 'to-many'
      /** Fields selected only to order the arrays by them; `relation` is set for fields of a nested embed. */
      readonly extraSelect: readonly { readonly relation: string | null; readonly field: PlannedSelectField }[]
      readonly order: readonly PlannedOrderTerm[]
    }

/** `relation.column = value`, with the column of the filter. */
export type ShardFilter = { readonly relation: QualifiedIdentifier; readonly filter: FieldFilter }

/** The plan for a relation and its embeds: the root's, or the common part of root and embed. */
export type ReadPlan = {
  /**
   * Whether the statement keeps the rows apart from what is made of them. Otherwise, the names of columns are lost when
   * Citus computes JSON of rows on the workers. Set for roots, and for embeds whose joins Citus would merge.
   */
  readonly isFenced?: boolean
  /** Conditions of an embed that follow from its joins, and that Citus does not derive by itself. */
  readonly shardFilters?: readonly ShardFilter[]
  readonly select: readonly PlannedSelectField[]
  readonly from: QualifiedIdentifier
  readonly fromAlias: string | null
  readonly where: readonly PlannedLogicTree[]
  readonly order: readonly PlannedOrderTerm[]
  readonly range: RowRange
  /** Name of the relation in the request. */
  readonly relationName: string
  readonly alias: string | null
  /** Alias of the lateral join with the result of an embed; empty for the root. */
  readonly aggregateAlias: string
  readonly joinType: JoinType | null
  /** Null for the root. */
  readonly toParent: Relationship | null
  /** The relation (or alias) whose row is the argument of a computed relationship; null for other relationships. */
  readonly computedArgument: QualifiedIdentifier | null
  readonly joinConditions: readonly JoinCondition[]
  readonly spread: Spread | null
  readonly relationSelect: readonly RelationSelectField[]
  /** Whether a parameter refers to the embed by its relation's name although it has an alias. Deprecated. */
  readonly addressedByLegacyName: boolean
  readonly embeds: readonly EmbedPlan[]
  readonly distinct?: PlannedDistinct
  /** Conditions on the groups of rows. With any, the rows are grouped. */
  readonly having?: GroupConditions
  /** Writes the SQL of `distinct` and `having`; set with either of them. */
  readonly groupingSql?: GroupingSql<ReadPlan>
  /** Set if `*` is selected and means the columns that the role may read. */
  readonly starred?: Starred
}

/** The part of the plan that does not depend on the parent of an embed. */
export type ReadNode = Omit<
  ReadPlan,
  'joinType' | 'aggregateAlias' | 'toParent' | 'computedArgument' | 'joinConditions' | 'spread'
>

/** The plan for an embed, with its chosen relationship. */
export type EmbedPlan = ReadPlan & { readonly toParent: Relationship }

/** Whether the rows are groups: the select list has an aggregate, or there are conditions on groups. */
export const isGrouped = ({ select, relationSelect, having }: ReadPlan): boolean =>
  having !== undefined ||
  select.some(({ aggregate }) => aggregate !== null) ||
  relationSelect.some((item) => item.kind === 'spread' && item.fields.some(({ aggregate }) => aggregate !== null))
/** A relation with the columns that `*` stands for in the plan; null for Postgres's `*`. */
export type Starred = { readonly relation: QualifiedIdentifier; readonly columns: readonly string[] | null }

/** Embeds by the alias of their join; of equal ones the first. */
export const embedsByAlias = <E extends Pick<ReadPlan, 'aggregateAlias'>>(
  embeds: readonly E[],
): ReadonlyMap<string, E> => new Map(embeds.toReversed().map((embed) => [embed.aggregateAlias, embed]))
