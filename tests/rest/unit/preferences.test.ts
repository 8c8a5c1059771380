// Prefer headers -> preferences -> Preference-Applied.
import t from 'tap'
import { parsePreferences, preferenceApplied } from '../../../server/rest/request/preferences.ts'

t.test('parsed', async (t) => {
  const rows: [string[], object][] = [
    [[], { invalid: [] }],
    [[''], { invalid: [] }],
    [
      ['return=representation, count=exact ,resolution=merge-duplicates'],
      { representation: 'representation', count: 'exact', resolution: 'merge-duplicates', invalid: [] },
    ],
    [
      ['return=minimal', 'count=planned', 'missing=default', 'handling=lenient'],
      { representation: 'minimal', count: 'planned', missing: 'default', handling: 'lenient', invalid: [] },
    ],
    [
      ['return=headers-only,count=estimated,resolution=ignore-duplicates,missing=null,handling=strict'],
      {
        representation: 'headers-only',
        count: 'estimated',
        resolution: 'ignore-duplicates',
        missing: 'null',
        handling: 'strict',
        invalid: [],
      },
    ],
    [['stream=rows, stream=all', 'Stream=rows'], { stream: 'rows', invalid: ['stream=all', 'Stream=rows'] }],
    [
      ['tx=rollback,tx=commit', 'return=minimal', 'return=representation'],
      { transaction: 'rollback', representation: 'minimal', invalid: [] },
    ],
    [['timezone=America/Los_Angeles, timezone=UTC'], { timezone: 'America/Los_Angeles', invalid: [] }],
    [['timezone='], { timezone: '', invalid: [] }],
    [['timezone=\xc3\xa9'], { timezone: 'é', invalid: [] }],
    [['max-affected=10'], { maxAffected: 10, invalid: [] }],
    [['max-affected= 0x10 '], { maxAffected: 16, invalid: [] }],
    [['max-affected=-1'], { maxAffected: -1, invalid: [] }],
    [['max-affected=x, max-affected=5'], { invalid: [] }],
    [['max-affected=9223372036854775807'], { maxAffected: 9223372036854775807n, invalid: [] }],
    [['max-affected=18446744073709551617'], { maxAffected: 1, invalid: [] }],
    [['\xa0\tcount=exact\xa0'], { count: 'exact', invalid: [] }],
    [
      ['Return=minimal, count = exact, params=single-object,,x', 'a,'],
      { invalid: ['Return=minimal', 'count = exact', 'params=single-object', '', 'x', 'a', ''] },
    ],
    [['__proto__, constructor=1, \xff'], { invalid: ['__proto__', 'constructor=1', '\ufffd'] }],
  ]
  for (const [headers, preferences] of rows)
    t.strictSame(parsePreferences(headers, true), preferences, headers.join(' | '))
  t.strictSame(
    parsePreferences(['tx=rollback, count=exact'], false),
    { count: 'exact', invalid: [] },
    'tx cannot be chosen',
  )
})

t.test('applied', async (t) => {
  const rows: [string, string | undefined][] = [
    ['', undefined],
    ['unknown', undefined],
    ['max-affected=5', undefined],
    ['max-affected=5,handling=lenient', 'handling=lenient'],
    ['max-affected=9223372036854775807,handling=strict', 'handling=strict, max-affected=9223372036854775807'],
    ['timezone=', 'timezone='],
    [
      'max-affected=5, timezone=UTC, handling=strict, tx=commit, count=exact, return=minimal, missing=default, resolution=ignore-duplicates',
      'resolution=ignore-duplicates, missing=default, return=minimal, count=exact, tx=commit, handling=strict, timezone=UTC, max-affected=5',
    ],
  ]
  for (const [header, applied] of rows) t.equal(preferenceApplied(parsePreferences([header], true)), applied, header)
})
