// SQL of the steps of a nested write where it depends on more than the tables of requests show.
import t from 'tap'
import type { NestedConflict, RowsStep } from '../../../server/rest/extensions/nested-writes/nested-write.ts'
import { render } from '../../../server/rest/sql/fragment.ts'
import { nestedStatement } from '../../../server/rest/extensions/nested-writes/nested-sql.ts'
import { field } from '../../support/plans.ts'

const upsert = (more: Partial<NestedConflict>): RowsStep => ({
  kind: 'rows',
  level: { number: 0, into: { schema: 'store', name: 'orders' }, keys: [], isKept: false },
  place: '',
  rows: [{ number: 0, path: '', text: '{"id":1}' }],
  columns: [field('id')],
  links: [],
  conflict: { resolution: 'merge-duplicates', columns: ['id'], nullable: [], ...more },
  isFirst: true,
  isRoot: true,
  applyDefaults: false,
  onlyUnknown: false,
  onlyPaired: null,
})

t.test('updated rows of the root are counted, unless Citus distributes them: it refuses the condition', (t) => {
  const conflictOf = (step: RowsStep): string | undefined =>
    / ON CONFLICT .*/.exec(render(nestedStatement(step)).text)?.[0]
  t.match(conflictOf(upsert({})), /^ ON CONFLICT \("id"\) DO UPDATE SET "id" = EXCLUDED\."id" WHERE set_config/)
  t.equal(conflictOf(upsert({ isDistributed: true })), ' ON CONFLICT ("id") DO UPDATE SET "id" = EXCLUDED."id"')
  t.end()
})
