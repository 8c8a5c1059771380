// Refresh tokens: their form, and that they use the whole alphabet.
import t from 'tap'
import { isRefreshToken, newRefreshToken } from '../../../server/services/auth/refresh-token.ts'

t.test('new tokens', async (t) => {
  const tokens = Array.from({ length: 1000 }, newRefreshToken)
  t.ok(tokens.every(isRefreshToken))
  t.equal(new Set(tokens).size, tokens.length)
  // A character is missing at a place in 1000 tokens with a probability of 36 * 12 * (35 / 36) ** 1000: 2.5e-10.
  for (let place = 0; place < 12; place++) t.equal(new Set(tokens.map((token) => token[place])).size, 36)
})

t.test('what is no token', async (t) => {
  for (const text of [
    '',
    'abcdefghijk',
    'abcdefghijklm',
    'ABCDEFGHIJKL',
    'abcdefghijk-',
    'abcdefghijkl\n',
    ' bcdefghijkl',
  ])
    t.notOk(isRefreshToken(text), JSON.stringify(text))
})
