import t from 'tap'
import {
  createRecoveryCodes,
  hashRecoveryCode,
  recoveryCodeIn,
} from '../../../server/services/auth/mfa/recovery-code.ts'

t.test('ten different codes, each of which is read as itself', async (t) => {
  const codes = createRecoveryCodes()
  t.equal(codes.length, 10)
  t.equal(new Set(codes).size, 10)
  for (const code of codes) {
    t.match(code, /^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/)
    t.equal(recoveryCodeIn(code), code)
  }
})

t.test('codes are read however they are typed', async (t) => {
  for (const text of ['abcd-efgh-2345-wxyz', 'ABCDEFGH2345WXYZ', ' abcd efgh 2345 wxyz\n', 'Abcd-Efgh2345-Wxyz']) {
    t.equal(recoveryCodeIn(text), 'abcd-efgh-2345-wxyz', JSON.stringify(text))
  }
  for (const text of [
    '',
    '123456',
    'abcd-efgh-2345-wxy',
    'abcd-efgh-2345-wxyz2',
    'abcd-efgh-2345-wxy1',
    'äbcd-efgh-2345-wxyz',
  ]) {
    t.equal(recoveryCodeIn(text), undefined, JSON.stringify(text))
  }
})

t.test('hashes differ by user and code', async (t) => {
  const hashes = [
    hashRecoveryCode('a', 'code'),
    hashRecoveryCode('b', 'code'),
    hashRecoveryCode('a', 'other'),
    hashRecoveryCode('ac', 'ode'),
  ]
  for (const hash of hashes) t.match(hash, /^[0-9a-f]{64}$/)
  t.equal(new Set(hashes).size, hashes.length)
})
