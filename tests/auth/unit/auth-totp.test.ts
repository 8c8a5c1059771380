import { Secret, TOTP } from 'otpauth'
import t from 'tap'
import { createTotpKey, matchingStep } from '../../../server/services/auth/mfa/totp.ts'

/** The key of RFC 6238, appendix B. */
const secret = Secret.fromUTF8('12345678901234567890').base32

t.test('codes of RFC 6238, appendix B, by their last six digits', async (t) => {
  const table: readonly (readonly [seconds: number, code: string])[] = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ]
  for (const [seconds, code] of table) {
    t.equal(matchingStep(secret, code, seconds * 1000), Math.floor(seconds / 30), code)
  }
})

t.test('codes of the neighbouring steps are accepted, and name their step', async (t) => {
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  const now = 1_700_000_010_000
  const step = Math.floor(now / 30_000)
  const results = [-2, -1, 0, 1, 2].map((away) =>
    matchingStep(secret, totp.generate({ timestamp: now + away * 30_000 }), now),
  )
  t.strictSame(results, [undefined, step - 1, step, step + 1, undefined])
})

t.test('other texts are wrong codes', async (t) => {
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: 0 })
  t.equal(matchingStep(secret, ` ${code.slice(0, 3)} ${code.slice(3)}\n`, 0), 0, 'white space is ignored')
  for (const text of ['', '12345', `${code}0`, `0${code}`, '-12345', '1e5000', '١٢٣٤٥٦', 'abcdef']) {
    t.equal(matchingStep(secret, text, 0), undefined, JSON.stringify(text))
  }
})

t.test('a key can be read by an authenticator app', async (t) => {
  const key = await createTotpKey('shop.example:8080', 'ann+1@example.org')
  t.match(key.secret, /^[A-Z2-7]{32}$/, '160 bits')
  const parsed = new URL(key.uri)
  t.match(key.uri, /^otpauth:\/\/totp\/shop\.example%3A8080:ann%2B1%40example\.org\?/)
  t.strictSame(Object.fromEntries(parsed.searchParams), {
    issuer: 'shop.example:8080',
    secret: key.secret,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
  t.match(key.qr_code, /^<svg .*<\/svg>$/s)
  t.notMatch(key.qr_code, '#', 'clients put it into a data: URL, where # would end it')
  t.not((await createTotpKey('a', 'b')).secret, key.secret)
})
