// Conditions of policies on `storage.objects`: what they say about a bucket.
import t from 'tap'
import { bucketsIn, verdictOf, type Verdict } from '../../server/tools/check/policy-condition.ts'

t.test('verdicts', async (t) => {
  const rows: [condition: string | null, verdict: Verdict][] = [
    [null, 'always'],
    ['true', 'always'],
    ['(true)', 'always'],
    ['false', 'never'],
    ["(bucket_id = 'a'::text)", 'always'],
    ["('a'::text = bucket_id)", 'always'],
    ["(bucket_id = 'b'::text)", 'never'],
    ["(bucket_id = ANY (ARRAY['b'::text, 'a'::text]))", 'always'],
    ["(bucket_id = ANY (ARRAY['b'::text, 'c'::text]))", 'never'],
    ["((bucket_id = 'a'::text) OR (bucket_id = 'b'::text))", 'always'],
    ["((bucket_id = 'b'::text) OR (name = 'x'::text))", 'perhaps'],
    ["((bucket_id = 'a'::text) AND (owner_id = (auth.uid())::text))", 'perhaps'],
    ["((bucket_id = 'b'::text) AND (owner_id = (auth.uid())::text))", 'never'],
    ["((bucket_id = 'a'::text) AND (auth.role() = 'anon'::text))", 'always'],
    ["((bucket_id = 'a'::text) AND (( SELECT auth.role() AS role) = 'anon'::text))", 'always'],
    ["((bucket_id = 'a'::text) AND (auth.role() = 'authenticated'::text))", 'never'],
    ["((bucket_id = 'a'::text) AND ((storage.foldername(name))[1] = 'x OR y'::text))", 'perhaps'],
    ["(NOT (bucket_id = 'a'::text))", 'never'],
    ["(NOT (bucket_id = 'b'::text))", 'always'],
    ["(NOT (name = 'b'::text))", 'perhaps'],
    ["(bucket_id = 'it''s) OR true'::text)", 'never'],
    ["((name ~~ 'a'::text) OR true)", 'always'],
    ['((a) AND (b', 'perhaps'],
  ]
  for (const [condition, verdict] of rows) t.equal(verdictOf(condition, 'a', 'anon'), verdict, String(condition))
})

t.test('names of buckets', async (t) => {
  const rows: [condition: string | null, buckets: string[]][] = [
    [null, []],
    ['true', []],
    ["((bucket_id = 'a'::text) AND (name = 'b'::text))", ['a']],
    ["(('a'::text = bucket_id) OR (bucket_id = ANY (ARRAY['b'::text, 'it''s'::text])))", ['a', 'b', "it's"]],
    ["(name = 'bucket'::text)", []],
  ]
  for (const [condition, buckets] of rows) t.strictSame(bucketsIn(condition), buckets, String(condition))
})
