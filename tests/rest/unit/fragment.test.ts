import t from 'tap'
import { join, render } from '../../../server/rest/sql/fragment.ts'

t.test('placeholders are numbered in the order of the text', async (t) => {
  const fragment = ['select ', join([{ value: 'a' }, [{ value: null }, '::int']], ', '), ' limit ', { value: '1' }]
  t.strictSame(render(fragment), { text: 'select $1, $2::int limit $3', values: ['a', null, '1'] })
})
