// Relationships as one line each: `table -> foreign table kind constraint(columns)`, with a star after views.
import t from 'tap'
import type { QualifiedIdentifier } from '../../server/catalogue/identifier.ts'
import { relationshipKey, type ColumnPairs, type Relationship } from '../../server/catalogue/relationship.ts'
import type { SchemaCache } from '../../server/catalogue/schema-cache.ts'
import { createSchemaCacheDatabase, loadFrom } from '../support/schema-cache.ts'

const nameOf = ({ schema, name }: QualifiedIdentifier): string => (schema === 'api' ? name : `${schema}.${name}`)
const columns = (pairs: ColumnPairs): string => `(${pairs.map((pair) => pair.join('=')).join()})`

function lineOf(relationship: Relationship): string {
  const self = relationship.isSelf ? ' self' : ''
  if (relationship.kind === 'computed') {
    const { table, foreignTable, isToOne } = relationship
    return `${nameOf(table)} -> ${nameOf(foreignTable)} ${isToOne ? 'one' : 'many'} by ${nameOf(relationship.function)}${self}`
  }
  const { table, foreignTable, tableIsView, foreignTableIsView, cardinality } = relationship
  const tables = `${nameOf(table)}${tableIsView ? '*' : ''} -> ${nameOf(foreignTable)}${foreignTableIsView ? '*' : ''}`
  if (cardinality.kind === 'many-to-many') {
    const { junction } = cardinality
    const source = `${junction.sourceConstraint}${columns(junction.sourceColumns)}`
    const target = `${junction.targetConstraint}${columns(junction.targetColumns)}`
    return `${tables} through ${nameOf(junction.table)} ${source} ${target}${self}`
  }
  const parent = cardinality.kind === 'one-to-one' && cardinality.isParent ? ' parent' : ''
  return `${tables} ${cardinality.kind} ${cardinality.constraint}${columns(cardinality.columns)}${parent}${self}`
}

function linesOf(cache: SchemaCache, from: string, schema = 'api', foreignSchema = schema): string[] | undefined {
  return cache.relationships.get(relationshipKey({ schema, name: from }, foreignSchema))?.map(lineOf)
}

const toTables =
  (...names: string[]) =>
  (line: string): boolean =>
    names.some((name) => line.includes(`-> ${name} `))

const database = await createSchemaCacheDatabase()
t.teardown(() => database.drop())
const cache = await loadFrom(database)

const cases: { name: string; from: string; to?: string[]; lines: string[] }[] = [
  {
    name: 'a foreign key is many-to-one from its table and one-to-many from the other; two are two relationships',
    from: 'books',
    to: ['authors', 'book_notes'],
    lines: [
      'books -> authors many-to-one author(author_id=id)',
      'books -> authors many-to-one editor(editor_id=id)',
      'books -> book_notes one-to-many book_notes_book_id_fkey(id=book_id)',
    ],
  },
  {
    name: 'both directions of a self-reference',
    from: 'authors',
    to: ['authors'],
    lines: [
      'authors -> authors one-to-many mentor(id=mentor_id) self',
      'authors -> authors many-to-one mentor(mentor_id=id) self',
      'authors -> authors through influences source(id=source) target(id=target) self',
      'authors -> authors through influences target(id=target) source(id=source) self',
      'authors -> authors one by parent self',
    ],
  },
  {
    name: 'a foreign key that is a primary key is one-to-one',
    from: 'book_covers',
    to: ['books'],
    lines: ['book_covers -> books one-to-one book_covers_book_id_fkey(book_id=id)'],
  },
  {
    name: 'a foreign key that is unique is one-to-one; seen from the parent',
    from: 'books',
    to: ['isbns', 'book_covers'],
    lines: [
      'books -> book_covers one-to-one book_covers_book_id_fkey(id=book_id) parent',
      'books -> isbns one-to-one isbns_book_id_fkey(id=book_id) parent',
    ],
  },
  {
    name: 'keys of two columns, in the order of the foreign key; one-to-one whatever the order of the unique key',
    from: 'shelves',
    lines: [
      'shelves -> books_and_tags* through shelf_tags shelf_tags_hall_number_fkey(hall=hall,number=number) shelf_tags_tag_id_fkey(tag_id=tag_id)',
      'shelves -> copies one-to-many shelf_of_copy(hall=hall,number=shelf)',
      'shelves -> labels_view* one-to-one shelf_of_label(hall=h,number=n) parent',
      'shelves -> shelf_labels one-to-one shelf_of_label(hall=hall,number=number) parent',
      'shelves -> shelf_tags one-to-many shelf_tags_hall_number_fkey(hall=hall,number=number)',
      'shelves -> tags through shelf_tags shelf_tags_hall_number_fkey(hall=hall,number=number) shelf_tags_tag_id_fkey(id=tag_id)',
    ],
  },
  {
    name: 'a foreign key within a longer unique key is not one-to-one',
    from: 'copies',
    to: ['books', 'shelves'],
    lines: [
      'copies -> books many-to-one copies_book_id_fkey(book_id=id)',
      'copies -> shelves many-to-one shelf_of_copy(hall=hall,shelf=number)',
    ],
  },
  {
    name: 'junctions need both foreign keys in their primary key and an exposed schema; views of them are junctions too',
    from: 'tags',
    to: ['books', 'authors', 'shelves'],
    lines: [
      'tags -> books through book_tags book_tags_tag_id_fkey(id=tag_id) book_tags_book_id_fkey(id=book_id)',
      'tags -> books through book_tags_view book_tags_tag_id_fkey(id=tag) book_tags_book_id_fkey(id=book)',
      'tags -> shelves through shelf_tags shelf_tags_tag_id_fkey(id=tag_id) shelf_tags_hall_number_fkey(hall=hall,number=number)',
    ],
  },
  {
    name: 'views, views of views with renamed columns, and materialised views',
    from: 'books',
    to: ['authors_view*', 'authors_view_2*', 'authors_materialised*'],
    lines: [
      'books -> authors_materialised* many-to-one author(author_id=id)',
      'books -> authors_materialised* many-to-one editor(editor_id=id)',
      'books -> authors_view* many-to-one author(author_id=author)',
      'books -> authors_view* many-to-one editor(editor_id=author)',
      'books -> authors_view_2* many-to-one author(author_id=writer)',
      'books -> authors_view_2* many-to-one editor(editor_id=writer)',
    ],
  },
  {
    name: 'from one view to another, and to itself',
    from: 'authors_view',
    to: ['authors_view*', 'books_view*'],
    lines: [
      'authors_view* -> authors_view* one-to-many mentor(author=mentored_by) self',
      'authors_view* -> authors_view* many-to-one mentor(mentored_by=author) self',
      'authors_view* -> authors_view* through influences source(author=source) target(author=target) self',
      'authors_view* -> authors_view* through influences target(author=target) source(author=source) self',
      'authors_view* -> books_view* one-to-many author(author=author)',
      'authors_view* -> books_view* one-to-many editor(author=editor_id)',
    ],
  },
  {
    name: 'columns that come through joins, subqueries and common table expressions',
    from: 'books_view',
    to: ['authors', 'isbns'],
    lines: [
      'books_view* -> authors many-to-one author(author=id)',
      'books_view* -> authors many-to-one editor(editor_id=id)',
      'books_view* -> isbns one-to-one isbns_book_id_fkey(book=book_id) parent',
    ],
  },
  {
    name: 'a column that a view shows twice gives every combination',
    from: 'books_twice',
    to: ['authors', 'isbns', 'book_notes'],
    lines: [
      'books_twice* -> authors many-to-one author(first=id)',
      'books_twice* -> authors many-to-one author(second=id)',
      'books_twice* -> book_notes one-to-many book_notes_book_id_fkey(id_a=book_id)',
      'books_twice* -> book_notes one-to-many book_notes_book_id_fkey(id_b=book_id)',
      'books_twice* -> isbns one-to-one isbns_book_id_fkey(id_a=book_id) parent',
      'books_twice* -> isbns one-to-one isbns_book_id_fkey(id_b=book_id) parent',
    ],
  },
  {
    name: 'a key of two columns through two views',
    from: 'labels_view',
    lines: [
      'labels_view* -> shelves one-to-one shelf_of_label(h=hall,n=number)',
      'labels_view* -> shelves_view* one-to-one shelf_of_label(h=the hall,n=nr.)',
    ],
  },
  {
    name: 'constraints of one name on several tables',
    from: 'books_view',
    to: ['same_a', 'same_b'],
    lines: [
      'books_view* -> same_a one-to-many same(book=book_id)',
      'books_view* -> same_b one-to-many same(book=book_id)',
    ],
  },
  {
    name: 'keys of and to partitioned tables, once, and not of their partitions',
    from: 'loans',
    to: ['books', 'fines'],
    lines: [
      'loans -> books many-to-one loans_book_id_fkey(book_id=id)',
      'loans -> fines one-to-many fines_loan_id_loan_day_fkey(id=loan_id,day=loan_day)',
    ],
  },
  {
    name: 'views of a partitioned table',
    from: 'loans_view',
    to: ['books', 'fines'],
    lines: [
      'loans_view* -> books many-to-one loans_book_id_fkey(book_id=id)',
      'loans_view* -> fines one-to-many fines_loan_id_loan_day_fkey(id=loan_id,day=loan_day)',
    ],
  },
  {
    name: 'views through a schema of the extra search path',
    from: 'via_extra',
    to: ['authors', 'isbns'],
    lines: [
      'via_extra* -> authors many-to-one author(author_id=id)',
      'via_extra* -> isbns one-to-one isbns_book_id_fkey(id=book_id) parent',
    ],
  },
  {
    name: 'computed relationships come last; ROWS 1 and single rows make them to-one',
    from: 'authors',
    to: ['books'],
    lines: [
      'authors -> books one-to-many author(id=author_id)',
      'authors -> books one-to-many editor(id=editor_id)',
      'authors -> books many by all_books',
      'authors -> books one by first_book',
    ],
  },
  {
    name: 'a function named like a relation replaces what keys say about it, not about its views',
    from: 'books',
    to: ['tags', 'books_and_tags*'],
    lines: [
      'books -> books_and_tags* through book_tags book_tags_book_id_fkey(id=book_id) book_tags_tag_id_fkey(tag_id=tag_id)',
      'books -> books_and_tags* through book_tags_view book_tags_book_id_fkey(id=book) book_tags_tag_id_fkey(tag_id=tag)',
      'books -> tags many by tags',
    ],
  },
]

for (const { name, from, to, lines } of cases) {
  t.test(name, async (t) => {
    const all = linesOf(cache, from) ?? []
    t.strictSame(to ? all.filter(toTables(...to)) : all, lines)
  })
}

t.test('views without relationships', async (t) => {
  for (const name of [
    'half_shelves',
    'union_view',
    'row_view',
    'cycle_a',
    'cycle_b',
    'via_internal',
    'partition_view',
  ]) {
    t.equal(linesOf(cache, name), undefined, name)
  }
})

t.test('internal relations have no relationships and cannot be embedded', async (t) => {
  const schemas = [...cache.relationships.keys()].map((key) => key.split('\0'))
  t.strictSame(new Set(schemas.map(([schema]) => schema)), new Set(['api']))
  t.strictSame(linesOf(cache, 'books', 'api', 'internal'), [], 'the function secret and the table secrets')
  t.strictSame(linesOf(cache, 'authors', 'api', 'internal'), [], 'the junction author_tags')
})

t.test('computed relationships belong to the schema of their function', async (t) => {
  t.strictSame(linesOf(cache, 'authors', 'api', 'extra'), ['authors -> books many by extra.far_books'])
})

t.test('a view of a schema that is not on the extra search path is opaque', async (t) => {
  const without = await loadFrom(database, { extraSearchPath: [] })
  t.equal(linesOf(without, 'via_extra'), undefined)
  const other = await loadFrom(database, { extraSearchPath: ['internal'] })
  t.strictSame(linesOf(other, 'via_internal')?.filter(toTables('authors')), [
    'via_internal* -> authors many-to-one author(author_id=id)',
  ])
})

t.test('junctions and relations of a second exposed schema', async (t) => {
  const both = await loadFrom(database, { schemas: ['api', 'internal'] })
  t.strictSame(linesOf(both, 'authors')?.filter(toTables('tags')), [
    'authors -> tags through internal.author_tags author_tags_author_id_fkey(id=author_id) author_tags_tag_id_fkey(id=tag_id)',
  ])
  t.strictSame(linesOf(both, 'author_tags', 'internal', 'api')?.filter(toTables('tags', 'authors')), [
    'internal.author_tags -> authors many-to-one author_tags_author_id_fkey(author_id=id)',
    'internal.author_tags -> tags many-to-one author_tags_tag_id_fkey(tag_id=id)',
  ])
  t.strictSame(linesOf(both, 'books', 'api', 'internal'), [
    'books -> internal.secrets one-to-many secrets_book_id_fkey(id=book_id)',
  ])
  t.strictSame(
    linesOf(both, 'books', 'api')?.filter((line) => line.includes('secret')),
    ['books -> internal.secrets many by secret'],
  )
})

t.test('hostile names', async (t) => {
  const schema = 'Quoted "Schema".x'
  const hostile = await loadFrom(database, { schemas: [schema] })
  const all = [...hostile.relationships.values()].flat().map((line) => lineOf(line).replaceAll(`${schema}.`, ''))
  t.strictSame(all.sort(), [
    '__proto__* -> tab(le many-to-one fk, (🙂(<>=id {)',
    '__proto__* -> v}iew) :targetList (* many-to-one fk, (🙂(<>=({TARGETENTRY :resno 1)',
    'tab(le -> __proto__* one-to-many fk, (🙂(id {=<>)',
    'tab(le -> 🙂 one-to-many fk, (🙂(id {=＃)',
    'v}iew) :targetList (* -> __proto__* one-to-many fk, (🙂(({TARGETENTRY :resno 1=<>)',
    'v}iew) :targetList (* -> 🙂 one-to-many fk, (🙂(({TARGETENTRY :resno 1=＃)',
    '🙂 -> tab(le many-to-one fk, (🙂(＃=id {)',
    '🙂 -> tab(le one by computed',
    '🙂 -> v}iew) :targetList (* many-to-one fk, (🙂(＃=({TARGETENTRY :resno 1)',
  ])
})
