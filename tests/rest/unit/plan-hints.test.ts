import t from 'tap'
import { closest, defaultScore, fuzzySet } from '../../../server/text/fuzzy-set.ts'
import { relationshipHint, routineHint, tableHint } from '../../../server/rest/plan/suggestion.ts'
import { cpuTime } from '../../support/cpu-time.ts'
import { foreignKey, qi, routine, schemaCache, table } from '../../support/small-schema-cache.ts'

const cache = schemaCache({
  tables: [
    table('invoices', ''),
    table('customers', ''),
    table('Orders', ''),
    table('reorders', ''),
    table('other.payments', ''),
  ],
  relationships: [
    foreignKey('invoices_customer_fk', 'invoices', 'customer_id', 'customers', 'id'),
    foreignKey('orders_invoice_fk', 'Orders', 'invoice_id', 'invoices', 'id'),
    foreignKey('items_fk', 'other.items', 'payment_id', 'other.payments', 'id'),
  ],
  routines: [
    routine('transfer', 'amount integer, source text, target text'),
    routine('transfer', 'id integer, note text'),
    routine('deposit', 'amount integer'),
    routine('other.withdraw', 'amount integer'),
  ],
})

t.test('the closest text of a set is found', async (t) => {
  const set = fuzzySet(['projects', 'project_tasks', 'Größen', 'abcd', 'CLIENTS', 'clients', '日本語の表'])
  const rows: [question: string, minimum: number, text: string | undefined, score?: number][] = [
    ['projects', 0.75, 'projects', 1],
    ['PROJECTS', 0.75, 'projects', 1],
    ['clients', 0.75, 'clients', 1],
    ['projectx', 0.75, 'projects', 7 / 8],
    ['projecxx', 0.75, 'projects', 6 / 8],
    ['projxxxx', 0.75, undefined],
    ['projxxxx', defaultScore, 'projects', 4 / 8],
    ['größe', 0.75, 'Größen', 5 / 6],
    ['日本語表', 0.75, '日本語の表', 4 / 5],
    // They share two letters in a row, but not three.
    ['xabycdz', defaultScore, 'abcd', 4 / 7],
    ['', defaultScore, undefined],
    ['--', defaultScore, undefined],
    ['__proto__', defaultScore, undefined],
    ['zzzz', defaultScore, undefined],
    ['p'.repeat(1_000_000), defaultScore, undefined],
  ]
  for (const [question, minimum, text, score] of rows) {
    const match = closest(set, question, minimum)
    t.equal(match?.text, text, question.slice(0, 20))
    t.equal(match?.score, score, question.slice(0, 20))
  }
  t.equal(closest(fuzzySet([]), 'projects', 0), undefined)
})

t.test('of equally close texts, the last is preferred', async (t) => {
  t.equal(closest(fuzzySet(['item_a', 'item_b']), 'item_c', defaultScore)?.text, 'item_b')
})

t.test('hostile input is processed quickly', async (t) => {
  const long = (letter: string) => Array.from({ length: 60 }, (_, at) => `${letter.repeat(3000)}${at}`)
  const set = fuzzySet([...long('a'), ...long('b')])
  const time = cpuTime(() => {
    for (const question of ['a'.repeat(4000), 'ab'.repeat(2000), 'x'.repeat(100_000)])
      closest(set, question, defaultScore)
  })
  t.ok(time < 5000, `${time} ms`)
})

t.test('tables', async (t) => {
  const rows: [name: string, hint: string | null][] = [
    ['invoice', "Perhaps you meant the table 'api.invoices'"],
    ['order', "Perhaps you meant the table 'api.Orders'"],
    ['inv', null],
    ['payment', null],
    ['other.payment', "Perhaps you meant the table 'other.payments'"],
    ['nowhere.invoice', null],
  ]
  for (const [name, hint] of rows) t.equal(tableHint(cache, qi(name)), hint, name)
  const tables = (count: number) => Array.from({ length: count }, (_, at) => table(`measurements_${at}`, ''))
  t.type(tableHint(schemaCache({ tables: tables(499) }), qi('measurement_7')), 'string')
  t.equal(tableHint(schemaCache({ tables: tables(500) }), qi('measurement_7')), null, 'too many tables')
})

t.test('functions and their parameters', async (t) => {
  const first = 'Perhaps you meant to call the function api.transfer(amount, source, target)'
  const second = 'Perhaps you meant to call the function api.transfer(id, note)'
  const rows: [name: string, names: string[], hint: string | null][] = [
    ['transfers', [], 'Perhaps you meant to call the function api.transfer'],
    ['withdraw', [], null],
    ['noclosealternative', [], null],
    ['transfer', ['amounts', 'sorce', 'targt'], first],
    ['transfer', ['amount', 'target'], first],
    ['transfer', ['id'], second],
    ['transfer', ['notes', 'id'], second],
    ['transfer', ['zzzzzzzz'], null],
    ['transfer', [], null],
  ]
  for (const [name, names, hint] of rows) t.equal(routineHint(cache, qi(name), names), hint, `${name} ${names.join()}`)
})

t.test('relationships', async (t) => {
  const rows: [origin: string, target: string, hint: string | null][] = [
    ['invoice', 'customers', "Perhaps you meant 'invoices' instead of 'invoice'."],
    ['invoices', 'customer', "Perhaps you meant 'customers' instead of 'customer'."],
    ['invoices', 'customers', null],
    ['invoices', 'CUSTOMERS', null],
    ['invoices', 'zzz', "'invoices' is related to 'Orders', 'customers'."],
    ['zzz', 'customers', null],
    // Orders has a similar name, but no relationship with customers.
    ['reorders', 'customers', "'customers' is related to 'invoices'."],
    ['zzz', 'yyy', null],
    ['other.item', 'payments', "Perhaps you meant 'items' instead of 'item'."],
    ['nowhere.invoice', 'customers', null],
  ]
  for (const [origin, target, hint] of rows) {
    t.equal(relationshipHint(cache, qi(origin), target), hint, `${origin} ${target}`)
  }
})
