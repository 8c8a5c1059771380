import t from 'tap'
import { cursorText, readCursor } from '../../../server/services/report/report-cursor.ts'

const id = '00000000-0000-4000-8000-000000000000'

t.test('a cursor keeps the microseconds of its report, in any time zone of the database', (t) => {
  for (const [createdAt, wanted] of [
    ['2026-11-22T17:21:49.399091+00:00', '2026-11-22T17:21:49.399091'],
    ['2026-11-22T23:21:49.000001+05:30', '2026-11-22T17:51:49.000001'],
    ['2026-11-22T17:21:49.5-08:00', '2026-11-23T01:21:49.500000'],
    ['2026-11-22T17:21:49+00:00', '2026-11-22T17:21:49.000000'],
    ['2026-11-22T17:21:49.999999Z', '2026-11-22T17:21:49.999999'],
  ] as const) {
    t.strictSame(readCursor(cursorText({ createdAt, id })), { createdAt: `${wanted}Z`, id }, createdAt)
  }
  t.end()
})
