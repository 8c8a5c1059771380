import t from 'tap'
import { goDuration } from '../../../server/text/go-duration.ts'

t.test('durations in Go’s notation', async (t) => {
  const table: readonly (readonly [text: string, seconds: number | undefined])[] = [
    ['0', 0],
    ['+0', 0],
    ['30s', 30],
    ['1h30m', 5400],
    ['1.5h', 5400],
    ['.5m', 30],
    ['-2s', -2],
    ['100ms', 0.1],
    ['876000h', 876_000 * 3600],
    ['2562047h', 2_562_047 * 3600],
    ['2562048h', undefined],
    ['', undefined],
    ['24', undefined],
    ['1d', undefined],
    ['1 h', undefined],
    ['h', undefined],
    ['1h,', undefined],
    ['--1h', undefined],
    ['none', undefined],
  ]
  for (const [text, seconds] of table) t.equal(goDuration(text), seconds, JSON.stringify(text))
})
