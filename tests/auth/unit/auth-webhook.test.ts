// Targets of hooks.
import t from 'tap'
import { hookTarget } from '../../../server/services/auth/hooks/hook-target.ts'

const secret = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

const target = (uri: string, secrets: readonly string[] = []) =>
  hookTarget('send_email', { enabled: true, uri, secrets })

t.test('reads only secrets of the form v1,whsec_<base64>', (t) => {
  for (const text of [secret, `whsec_${secret}`, 'v1,whsec_short', `v1,whsec_${secret}!`, `v1a,whpk_${secret}`, '']) {
    t.throws(() => target('https://hooks.example.org/', [text]), /must have the form v1,whsec_<base64>/, text)
  }
  t.end()
})

t.test('reads targets', (t) => {
  t.strictSame(target('pg-functions://postgres/public/send_mail'), {
    kind: 'postgres',
    function: { schema: 'public', name: 'send_mail' },
  })
  t.strictSame(target('https://hooks.example.org/mail', [`v1,whsec_${secret}`]), {
    kind: 'http',
    url: 'https://hooks.example.org/mail',
    keys: [Buffer.from(secret, 'base64')],
  })
  for (const host of ['localhost', '127.0.0.1', '[::1]', 'host.docker.internal']) {
    t.match(target(`http://${host}:9000/`), { kind: 'http', url: `http://${host}:9000/` })
  }
  t.end()
})

t.test('names the setting of an invalid target', (t) => {
  for (const uri of [
    'http://hooks.example.org/mail',
    'ftp://hooks.example.org/mail',
    'pg-functions://postgres/public',
    'pg-functions://postgres/public/send-mail',
    'pg-functions://postgres/public/"x"',
    'send_mail',
    '',
  ]) {
    t.throws(() => target(uri), { message: /GOTRUE_HOOK_SEND_EMAIL_URI must / }, uri)
  }
  t.throws(() => target('https://hooks.example.org/', ['x']), {
    message: /GOTRUE_HOOK_SEND_EMAIL_SECRETS must have the form/,
  })
  t.end()
})
