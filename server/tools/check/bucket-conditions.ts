// What the conditions of policies on `storage.objects` say about a bucket.
import type { Relation } from '../../catalogue/description.ts'
import { constantTruth, functionOf, nodesByLevel, plainColumn, unwrapped } from '../../catalogue/expression.ts'
import { isNode, listIn, numberIn, textConstant, type TreeNode, type TreeValue } from '../../catalogue/node-tree.ts'
import type { PolicyExpressions } from './policy-expression.ts'
import type { SchemaView } from './schema-view.ts'

/** `perhaps`: it depends on the row or on the caller. */
export type Verdict = 'always' | 'never' | 'perhaps'

/** A comparison for equality with one of several texts. */
type Comparison = { readonly subject: 'bucket' | 'role'; readonly values: readonly string[] }

export class BucketConditions {
  readonly #expressions: PolicyExpressions
  readonly #equalities: readonly number[]
  readonly #bucketColumn: number | undefined
  /** `auth.role()`, by oid. */
  readonly #roleFunctions: ReadonlySet<number>

  /** @param objects the table `storage.objects` */
  constructor(view: SchemaView, expressions: PolicyExpressions, objects: Relation) {
    this.#expressions = expressions
    this.#equalities = view.catalogue.equalities
    this.#bucketColumn = objects.columns.find(({ name }) => name === 'bucket_id')?.number
    const roles = view.catalogue.functions.filter(({ schema, name }) => schema === 'auth' && name === 'role')
    this.#roleFunctions = new Set(roles.map(({ oid }) => oid))
  }

  /** Whether the condition allows all objects of a bucket for a role, none, or some. Null is no condition: all. */
  verdict(condition: string | null, bucket: string, role: string): Verdict {
    return condition === null ? 'always' : this.#verdict(this.#expressions.tree(condition), { bucket, role })
  }

  /** The names of buckets that a condition compares the column `bucket_id` with. */
  bucketsIn(condition: string | null): string[] {
    const tree = condition === null ? null : this.#expressions.tree(condition)
    const compared = [...nodesByLevel(tree)].flatMap(([node, level]) => this.#comparison(node, level) ?? [])
    return [...new Set(compared.flatMap(({ subject, values }) => (subject === 'bucket' ? values : [])))]
  }

  #verdict(node: TreeValue, actual: Readonly<Record<Comparison['subject'], string>>): Verdict {
    if (!isNode(node)) return 'perhaps'
    if (node.tag === 'BOOLEXPR') {
      const verdicts = listIn(node, 'args').map((part) => this.#verdict(part, actual))
      switch (node.fields.get('boolop')) {
        case 'or':
          return combined(verdicts, 'always', 'never')
        case 'and':
          return combined(verdicts, 'never', 'always')
        default:
          return negated(verdicts[0] ?? 'perhaps')
      }
    }
    const truth = constantTruth(node)
    if (truth !== undefined) return truth ? 'always' : 'never'
    const comparison = this.#comparison(node, 0)
    if (!comparison) return 'perhaps'
    return comparison.values.includes(actual[comparison.subject]) ? 'always' : 'never'
  }

  /** @param level how many queries surround the node */
  #comparison(node: TreeNode, level: number): Comparison | undefined {
    if (!this.#equalities.includes(numberIn(node, 'opno'))) return undefined
    const [left = null, right = null] = listIn(node, 'args')
    const compare = (one: TreeValue, other: TreeValue): Comparison | undefined => {
      const subject = this.#subjectOf(one, level)
      const values = constantsOf(other)
      return subject && values && { subject, values }
    }
    if (node.tag === 'OPEXPR') return compare(left, right) ?? compare(right, left)
    return node.tag === 'SCALARARRAYOPEXPR' && node.fields.get('useOr') === 'true' ? compare(left, right) : undefined
  }

  #subjectOf(value: TreeValue, level: number): Comparison['subject'] | undefined {
    const column = plainColumn(value, level)
    if (column !== undefined) return column === this.#bucketColumn ? 'bucket' : undefined
    const inner = unwrapped(value)
    const called = isNode(inner) && inner.tag === 'FUNCEXPR' ? functionOf(inner) : undefined
    return called !== undefined && this.#roleFunctions.has(called) ? 'role' : undefined
  }
}

/** The node of an array: since PostgreSQL 16, and before. */
const arrayTags: readonly string[] = ['ARRAYEXPR', 'ARRAY']

/** The texts of a constant, or of an array of constants. */
function constantsOf(value: TreeValue): string[] | undefined {
  if (!isNode(value)) return undefined
  const items = arrayTags.includes(value.tag) ? listIn(value, 'elements') : [value]
  const texts = items.flatMap((item) => (isNode(item) ? (textConstant(item) ?? []) : []))
  return texts.length === items.length ? texts : undefined
}

/** One of `decisive` decides; otherwise all must be `neutral`. */
function combined(verdicts: readonly Verdict[], decisive: Verdict, neutral: Verdict): Verdict {
  if (verdicts.includes(decisive)) return decisive
  return verdicts.every((verdict) => verdict === neutral) ? neutral : 'perhaps'
}

const negated = (verdict: Verdict): Verdict =>
  verdict === 'perhaps' ? 'perhaps' : verdict === 'always' ? 'never' : 'always'
