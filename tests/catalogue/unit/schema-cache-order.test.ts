import t, { type Test } from 'tap'
import { compareRelationships, compareRoutines } from '../../../server/catalogue/order.ts'
import { compareText } from '../../../server/text/code-point-order.ts'
import type { Cardinality, ForeignKeyRelationship, Relationship } from '../../../server/catalogue/relationship.ts'
import type { Routine, RoutineParameter } from '../../../server/catalogue/routine.ts'

/** Sorts the reversed list, and checks each pair in both directions. */
function checkOrder<T>(t: Test, compare: (a: T, b: T) => number, inOrder: readonly T[]): void {
  t.strictSame([...inOrder].reverse().sort(compare), inOrder)
  const signs = inOrder.map((left) => inOrder.map((right) => Math.sign(compare(left, right))))
  t.strictSame(
    signs,
    inOrder.map((_, i) => inOrder.map((_, j) => Math.sign(i - j))),
  )
}

t.test('texts are ordered by code points', async (t) => {
  checkOrder(t, compareText, [
    '',
    'A',
    'B',
    'a',
    'a b',
    'aa',
    'b',
    'é',
    'ключ',
    '\ud7ff',
    '\ue000',
    '＃',
    '🙂',
    '🙂a',
    '🙃',
  ])
})

const id = (name: string, schema = 'api') => ({ schema, name })

t.test('relationships are ordered by each field in turn', async (t) => {
  const many: Cardinality = { kind: 'many-to-one', constraint: 'b', columns: [['a', 'b']] }
  const one = { kind: 'one-to-one', constraint: 'b', columns: [['a', 'b']], isParent: false } as const
  const junction = {
    table: id('j'),
    sourceConstraint: 'b',
    targetConstraint: 'b',
    sourceColumns: [['b', 'b']],
    targetColumns: [['b', 'b']],
  } as const
  const key: ForeignKeyRelationship = {
    kind: 'foreign-key',
    table: id('b'),
    foreignTable: id('b'),
    isSelf: false,
    cardinality: many,
    tableIsView: false,
    foreignTableIsView: false,
  }
  const computed = {
    kind: 'computed',
    function: id('b'),
    table: id('b'),
    foreignTable: id('b'),
    isToOne: false,
    isSelf: false,
  } as const
  const through = (change: Partial<typeof junction | Record<string, unknown>>): Relationship => ({
    ...key,
    cardinality: { kind: 'many-to-many', junction: { ...junction, ...change } },
  })
  checkOrder<Relationship>(t, compareRelationships, [
    { ...key, table: id('z', 'a'), cardinality: { ...many, constraint: 'z' } },
    { ...key, table: id('a'), isSelf: true },
    { ...key, foreignTable: id('a'), isSelf: true },
    { ...key, cardinality: { ...many, kind: 'one-to-many', constraint: 'z' } },
    { ...key, cardinality: { ...many, constraint: 'a', columns: [['z', 'z']] }, tableIsView: true },
    { ...key, cardinality: { ...many, columns: [] } },
    { ...key, cardinality: { ...many, columns: [['a', 'a']] } },
    key,
    { ...key, foreignTableIsView: true },
    { ...key, tableIsView: true },
    { ...key, cardinality: { ...many, columns: [['a', 'b'], ['a', 'a']] } }, // prettier-ignore
    { ...key, cardinality: { ...many, columns: [['b', 'a']] } },
    { ...key, cardinality: one },
    { ...key, cardinality: { ...one, isParent: true } },
    through({ table: id('i'), sourceConstraint: 'z' }),
    through({ sourceConstraint: 'a', targetConstraint: 'z' }),
    through({ targetConstraint: 'a', sourceColumns: [['z', 'z']] }),
    through({ sourceColumns: [['a', 'z']], targetColumns: [['z', 'z']] }),
    through({ targetColumns: [['a', 'z']] }),
    through({}),
    { ...key, isSelf: true },
    { ...key, foreignTable: id('c') },
    { ...key, table: id('c'), foreignTable: id('a') },
    { ...computed, function: id('a'), table: id('z') },
    { ...computed, table: id('a'), foreignTable: id('z') },
    { ...computed, foreignTable: id('a'), isToOne: true },
    computed,
    { ...computed, isSelf: true },
    { ...computed, isToOne: true },
  ])
})

t.test('overloads are ordered by the number of parameters, then by each field in turn', async (t) => {
  const parameter: RoutineParameter = { name: 'b', type: 'b', castType: 'b', required: true, variadic: false }
  const routine: Routine = {
    schema: 'api',
    name: 'f',
    description: 'b',
    parameters: [parameter],
    returns: { setOf: false, type: id('b'), composite: false, compositeAlias: false },
    volatility: 'stable',
    hasVariadic: false,
    isolationLevel: 'repeatable read',
    settings: [['b', 'b']],
  }
  const { returns } = routine
  checkOrder<Routine>(t, compareRoutines, [
    { ...routine, name: 'e', parameters: [parameter, parameter] },
    { ...routine, parameters: [], description: 'z' },
    { ...routine, description: null, parameters: [{ ...parameter, name: 'z' }] },
    { ...routine, description: 'a', parameters: [{ ...parameter, name: 'z' }] },
    { ...routine, parameters: [{ ...parameter, name: 'a', type: 'z' }] },
    { ...routine, parameters: [{ ...parameter, type: 'a', castType: 'z' }] },
    { ...routine, parameters: [{ ...parameter, castType: 'a' }] },
    { ...routine, parameters: [{ ...parameter, required: false, variadic: true }] },
    { ...routine, returns: { ...returns, type: id('a') }, volatility: 'immutable' },
    { ...routine, volatility: 'volatile', hasVariadic: true },
    { ...routine, isolationLevel: null, settings: [['z', 'z']] },
    { ...routine, isolationLevel: 'read committed' },
    { ...routine, settings: [] },
    { ...routine, settings: [['a', 'z']] },
    routine,
    { ...routine, settings: [['b', 'b'], ['a', 'a']] }, // prettier-ignore
    { ...routine, isolationLevel: 'serializable' },
    { ...routine, hasVariadic: true },
    { ...routine, volatility: 'immutable' },
    { ...routine, returns: { ...returns, composite: true, type: id('a') } },
    { ...routine, returns: { ...returns, composite: true, type: id('a'), compositeAlias: true } },
    { ...routine, returns: { ...returns, setOf: true, type: id('a') } },
    { ...routine, parameters: [{ ...parameter, variadic: true }] },
    { ...routine, description: 'c', parameters: [{ ...parameter, name: 'a' }] },
    { ...routine, parameters: [parameter, { ...parameter, name: 'a' }], description: null },
    { ...routine, schema: 'b', parameters: [] },
  ])
})
