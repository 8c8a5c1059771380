// Headers that are not credentials: which requests are anonymous, and which are refused.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createFilmDatabase } from '../support/authenticator.ts'

const { anonymous, uri } = await createFilmDatabase(t)
const { call } = await startApplication(t, uri, { PGRST_DB_ANON_ROLE: anonymous, SESSION_SECRETS: 's'.repeat(32) })

t.test('authorization schemes other than Bearer', async (t) => {
  const refused = { status: 401, body: { status: 'fail', statusCode: 401 } }
  for (const authorization of ['Basic dXNlcjpodW50ZXIy', 'Digest x', 'hunter2', 'Bearerhunter2']) {
    const given = { headers: { Authorization: authorization } }
    t.match(await call('GET', '/rest/v1/films', given), { status: 200, body: [] }, `${authorization}: anonymous`)
    for (const path of ['/auth/me', '/report', '/openapi.json']) {
      const answer = await call('GET', path, given)
      t.match(answer, refused, `${authorization}: ${path}`)
      t.match(answer.body, { message: 'The Authorization header must have the scheme Bearer' })
      t.equal(answer.headers.get('www-authenticate'), 'Bearer')
      t.notMatch(answer.text, /hunter2/)
    }
    t.match(await call('GET', '/health', given), { status: 200 })
  }
  t.match(await call('GET', '/openapi.json'), { status: 200 }, 'without the header')
})

t.test('an apikey header that is not a key', async (t) => {
  const refused = {
    status: 401,
    body: {
      code: 'PGRST301',
      message: 'The apikey header is neither an API key nor a JWT',
      details: 'An API key begins with sb_publishable_ or sb_secret_. A JWT has three parts, separated by dots.',
    },
  }
  for (const apikey of ['nonsense', 'sb_secert_x', 'a.b', 'a.b.c.d']) {
    t.match(await call('GET', '/rest/v1/films', { headers: { apikey } }), refused, apikey)
    // Supabase's clients send it until a user signs in.
    const both = { apikey, Authorization: `Bearer ${apikey}` }
    t.match(await call('GET', '/rest/v1/films', { headers: both }), refused)
  }
  t.match(await call('GET', '/rest/v1/films', { headers: { apikey: 'a.b.c' } }), { status: 401 })
})
