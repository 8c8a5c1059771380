// Requests as code that people copy: texts of links and of the database stay texts.
import t from 'tap'
import { curlOf, supabaseRead } from '../../../server/console/rest/snippets.ts'

const place = { restPath: '/rest/v1', schema: 'public', name: "it's", isDefault: true }

t.test('texts that end quotations', (t) => {
  const attack = "1).then(() => alert('x')) //"
  const code = supabaseRead(place, [['limit', attack]])
  t.match(code, ".limit('1).then(() => alert(\\'x\\')) //')")
  t.match(code, "from('it\\'s')")
  t.match(supabaseRead(place, [['limit', '10']]), '.limit(10)')
  const curl = curlOf('http://127.0.0.1/', { method: 'GET', path: "rest/v1/it's", headers: [['x', "'; id; '"]] })
  t.match(curl, "'http://127.0.0.1/rest/v1/it'\\''s'")
  t.match(curl, "'x: '\\''; id; '\\'''")
  t.end()
})
