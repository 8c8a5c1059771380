import { createHmac } from 'node:crypto'
import t from 'tap'
import { cookieValues, setCookie, signCookie, verifyCookie } from '../../../server/http/cookie.ts'

const [secret, older, foreign] = ['n'.repeat(32), 'o'.repeat(32), 'f'.repeat(32)] as const
const value = { id: 'abc', expires: 2000 }
const text = signCookie('session', value, [secret, older])
const mac = (plain: string, key: string): string =>
  createHmac('sha256', key).update(plain).digest('base64').replace(/=+$/, '')

t.test('the signature covers name, value and expiry', async (t) => {
  t.equal(text, `abc.2000.${mac('session=abc.2000', secret)}`)
  t.throws(() => signCookie('session', value, []), { message: /no secret/ })
})

t.test('cookies are verified', async (t) => {
  const valid = { kind: 'valid', value }
  const forged = { kind: 'forged' }
  const rows: readonly (readonly [
    label: string,
    name: string,
    text: string,
    secrets: string[],
    now: number,
    object,
  ])[] = [
    ['genuine', 'session', text, [secret], 1999, valid],
    ['signed with an older secret', 'session', signCookie('session', value, [older]), [secret, older], 1999, valid],
    ['signed with a removed secret', 'session', signCookie('session', value, [older]), [secret], 1999, forged],
    ['expired', 'session', text, [secret], 2000, { kind: 'expired' }],
    ['another cookie', 'other', text, [secret], 1999, forged],
    ['another id', 'session', text.replace('abc', 'abd'), [secret], 1999, forged],
    ['a later expiry', 'session', text.replace('2000', '9000'), [secret], 1999, forged],
    ['a foreign secret', 'session', signCookie('session', value, [foreign]), [secret, older], 1999, forged],
    ['cut', 'session', text.slice(0, -1), [secret], 1999, forged],
    ['longer', 'session', `${text}A`, [secret], 1999, forged],
    ['unsigned', 'session', 'abc.2000', [secret], 1999, forged],
    ['empty', 'session', '', [secret], 1999, forged],
    ['beyond ASCII', 'session', '💥.2000.💥', [secret], 1999, forged],
    ['no secrets at all', 'session', text, [], 1999, forged],
  ]
  for (const [label, name, cookie, secrets, now, wanted] of rows) {
    t.strictSame(verifyCookie(name, cookie, secrets, now), wanted, label)
  }
})

t.test('the Cookie header is parsed', async (t) => {
  const rows: readonly (readonly [string | undefined, string[]])[] = [
    [undefined, []],
    ['', []],
    ['session=a', ['a']],
    ['other=x; session=a; more=y', ['a']],
    ['session=a; session=b', ['a', 'b']],
    ['xsession=a; sessionx=b; Session=c', []],
    ['session', []],
    ['=session', []],
    ['session=', ['']],
    ['session=a=b', ['a=b']],
    [' session = a ;', ['a']],
    ['__proto__=x; session=a', ['a']],
  ]
  for (const [header, values] of rows) t.strictSame(cookieValues(header, 'session'), values, header ?? 'none')
})

t.test('the Set-Cookie header is written', async (t) => {
  t.equal(setCookie('session', 'a.b', 60, true), 'session=a.b; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure')
  t.equal(setCookie('session', '', 0, false), 'session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax')
})
