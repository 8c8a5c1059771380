// Tokens that confirm writes, with a clock of the test.
import t from 'tap'
import { tokenLifetime, writeTokens, type WriteScope } from '../../../server/services/mcp/write-token.ts'

const scope: WriteScope = { caller: 'ada', write: ['PATCH', '/tasks?id=eq.1', null, { done: true }, null] }
const secret = Buffer.from('a secret of the server, of more than 32 bytes')

function tokens(now: () => number, secrets: readonly Uint8Array[] = [secret]) {
  const used = new Set<string>()
  return writeTokens(
    () => secrets,
    {
      count: async (_limit, [subject = '']) => {
        if (used.has(subject)) return 60
        used.add(subject)
        return undefined
      },
    },
    now,
  )
}

t.test('a token is valid once, and for its time', async (t) => {
  let time = 1_000_000
  const { issue, use } = tokens(() => time)
  const token = issue(scope, 3)
  t.equal(await use(token, scope), 3)
  await t.rejects(use(token, scope), /was used before/)
  const late = issue(scope, 1)
  time += tokenLifetime * 1000 + 1000
  await t.rejects(use(late, scope), /is older than 120 seconds/)
})

t.test('another caller, write, number of rows or time is refused', async (t) => {
  const { issue, use } = tokens(() => 1_000_000)
  const token = issue(scope, 3)
  const [expiry = '', rows = '', nonce = '', tag = ''] = token.split('.')
  for (const other of [
    { ...scope, caller: 'bob' },
    { ...scope, write: [...scope.write].reverse() },
    { ...scope, write: ['PATCH', '/tasks?id=eq.1', null, [['done', true]], null] },
    { caller: 'ada', write: [] },
  ]) {
    await t.rejects(use(token, other), /is not one that preview_write has returned/)
  }
  for (const forged of [
    [String(Number(expiry) + 1), rows, nonce, tag].join('.'),
    [expiry, '4', nonce, tag].join('.'),
    [expiry, rows, 'A'.repeat(16), tag].join('.'),
    [expiry, rows, nonce, 'A'.repeat(22)].join('.'),
    [expiry, rows, nonce].join('.'),
    [expiry, rows, nonce, tag, tag].join('.'),
    '',
    '...',
    `${token}\n`,
  ]) {
    await t.rejects(use(forged, scope), /is not one that preview_write has returned/, forged)
  }
  t.equal(await use(token, scope), 3, 'refusals do not use it up')
})

t.test('one token in several spellings is one', async (t) => {
  const { issue, use } = tokens(() => 1_000_000)
  const token = issue(scope, 1)
  await use(token, scope)
  // The last of 22 characters has four bits that no byte has.
  for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
    await t.rejects(use(`${token.slice(0, -1)}${last}`, scope))
  }
})

t.test('a secret that was replaced is still read', async (t) => {
  const newer = Buffer.from('another secret of the server, which is newer')
  const now = (): number => 1_000_000
  const token = tokens(now).issue(scope, 1)
  t.equal(await tokens(now, [newer, secret]).use(token, scope), 1)
  await t.rejects(tokens(now, [newer]).use(token, scope), /is not one/)
  const without = tokens(now, [])
  t.equal(await without.use(without.issue(scope, 2), scope), 2, 'a server without secrets')
})
