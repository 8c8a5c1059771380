// What the condition of a policy on `storage.objects` says about a bucket, as far as its text shows: PostgreSQL's own text of
// the expression, with types and brackets around every part.
import { parseCondition, type Condition } from '../../catalogue/printed-condition.ts'

/** `perhaps`: it depends on the row or on the caller. */
export type Verdict = 'always' | 'never' | 'perhaps'

/** The text of a constant: `'it''s'::text`. */
const constant = /'((?:[^']|'')*)'::(?:text|character varying)/
const bucketIs = new RegExp(`^(?:bucket_id = ${constant.source}|${constant.source} = bucket_id)$`)
const bucketIsAny = /^bucket_id = ANY \(ARRAY\[(.*)\]\)$/s
const roleIs = new RegExp(`^(?:auth\\.role\\(\\)|\\( SELECT auth\\.role\\(\\) AS role\\)) = ${constant.source}$`)

const plain = (text: string): string => text.replaceAll("''", "'")

const constantsOf = (text: string): string[] =>
  Array.from(text.matchAll(new RegExp(constant, 'g')), ([, value = '']) => plain(value))

/** Whether the condition allows all objects of a bucket for a role, none, or some. Null is no condition: all. */
export function verdictOf(condition: string | null, bucket: string, role: string): Verdict {
  return condition === null ? 'always' : ofCondition(parseCondition(condition), bucket, role)
}

function ofCondition(condition: Condition, bucket: string, role: string): Verdict {
  if (condition.kind === 'test') {
    const { text } = condition
    if (text.startsWith('NOT ')) return negated(verdictOf(text.slice('NOT '.length), bucket, role))
    return ofComparison(text, bucket, role)
  }
  const verdicts = condition.parts.map((part) => ofCondition(part, bucket, role))
  return condition.kind === 'or' ? combined(verdicts, 'always', 'never') : combined(verdicts, 'never', 'always')
}

/** The names of buckets that a condition compares the column `bucket_id` with. */
export function bucketsIn(condition: string | null): string[] {
  const text = condition ?? ''
  const [column, list] = [/bucket_id = /, /bucket_id = ANY \(ARRAY\[([^\]]*)\]\)/]
  const single = [
    ...text.matchAll(new RegExp(column.source + constant.source, 'g')),
    ...text.matchAll(new RegExp(`${constant.source} = bucket_id`, 'g')),
  ].map(([, value = '']) => plain(value))
  const several = Array.from(text.matchAll(new RegExp(list, 'g')), ([, values = '']) => constantsOf(values)).flat()
  return [...new Set([...single, ...several])]
}

function ofComparison(text: string, bucket: string, role: string): Verdict {
  if (text === 'true') return 'always'
  if (text === 'false') return 'never'
  const [, first, second] = bucketIs.exec(text) ?? []
  const named = first ?? second
  if (named !== undefined) return plain(named) === bucket ? 'always' : 'never'
  const [, values] = bucketIsAny.exec(text) ?? []
  if (values !== undefined) return constantsOf(values).includes(bucket) ? 'always' : 'never'
  const [, wanted] = roleIs.exec(text) ?? []
  if (wanted !== undefined) return plain(wanted) === role ? 'always' : 'never'
  return 'perhaps'
}

/** One of `decisive` decides; otherwise all must be `neutral`. */
function combined(verdicts: readonly Verdict[], decisive: Verdict, neutral: Verdict): Verdict {
  if (verdicts.includes(decisive)) return decisive
  return verdicts.every((verdict) => verdict === neutral) ? neutral : 'perhaps'
}

const negated = (verdict: Verdict): Verdict =>
  verdict === 'perhaps' ? 'perhaps' : verdict === 'always' ? 'never' : 'always'
