// Which statements may have effects that a rollback does not undo.
import t from 'tap'
import { effectsOf, type EffectsCatalogue, type EffectsQuestion } from '../../../server/tools/explain/effects.ts'
import { sequencesAdvance } from '../../../server/tools/explain/harmless-functions.ts'

type Function = EffectsCatalogue['functions'][number]

/** The oids of the names. */
const known: string[] = []
function oidOf(name: string): number {
  if (!known.includes(name)) known.push(name)
  return known.indexOf(name)
}

const volatile = (name: string, more: Partial<Function> = {}): Function => ({
  oid: oidOf(name),
  schema: 'app',
  name,
  arguments: '',
  language: 'plpgsql',
  isBuiltIn: false,
  extension: null,
  source: 'begin return new; end',
  ...more,
})
const builtIn = (name: string): Function =>
  volatile(name, { schema: 'pg_catalog', isBuiltIn: true, language: 'internal', source: null })
const withBody = (name: string, source: string): Function => volatile(name, { source })

type Dependency = EffectsCatalogue['dependencies'][number]

/** A part of a relation, or for the kind `function` the body of one, and the function or relation that it uses. */
const uses = (
  of: string,
  [kind, name]: readonly [Dependency['kind'], string],
  used: { readonly function: string } | { readonly relation: string },
  runs: Dependency['runs'] = 'always',
): Dependency => ({
  ...{ kind, name, runs },
  relation: kind === 'function' ? null : oidOf(of),
  function: kind === 'function' ? oidOf(of) : null,
  usesFunction: 'function' in used ? oidOf(used.function) : null,
  usesRelation: 'relation' in used ? oidOf(used.relation) : null,
})

const catalogue: EffectsCatalogue = {
  functions: [
    ...['random', 'nextval', 'setval', 'pg_notify', 'pg_advisory_xact_lock', 'pg_terminate_backend', 'lo_export'].map(
      builtIn,
    ),
    volatile('dblink_exec', { schema: 'public', language: 'c', source: null, extension: 'dblink' }),
    volatile('gen_salt', { language: 'c', source: null, extension: 'pgcrypto' }),
    volatile('in_python', { language: 'plpython3u', source: null }),
    withBody('harmless', `begin perform pg_notify('a', random()::text); return new; end`),
    withBody('chain', 'begin perform app.middle(); return new; end'),
    withBody('middle', 'select app.last(1)'),
    withBody('last', `begin perform "dblink_exec"('x'); end`),
    withBody('circle', 'begin perform circle(); perform chain(); end'),
    withBody('dynamic', 'begin EXECUTE format($$ select %I $$, new.a); end'),
    withBody('privilege', 'begin grant execute on function app.harmless() to anon; end'),
    withBody('block', `begin do $$ begin null; end $$; end`),
    withBody('upsert', 'begin insert into notes values (1) on conflict (id) do update set id = 1; end'),
    withBody('files', `begin copy notes to '/tmp/x'; end`),
    withBody('copies', 'begin select copy from notes; end'),
    withBody('commented', `begin -- perform setval('a', 1)\n /* dblink_exec() */ perform 'setval(x)'; end`),
    volatile('atomic', { language: 'sql', source: '' }),
    withBody('reads_partner', 'select * from app.partner'),
    withBody('on_ddl', `begin perform setval('a', 1); end`),
    withBody('transition', `select app.last(2)`),
    withBody('cast_it', `begin perform pg_terminate_backend(1); end`),
  ],
  relations: [
    { oid: oidOf('notes'), schema: 'app', name: 'notes', isForeign: false, hasSequence: true },
    { oid: oidOf('tags'), schema: 'app', name: 'tags', isForeign: false, hasSequence: false },
    { oid: oidOf('partner'), schema: 'app', name: 'partner', isForeign: true, hasSequence: false },
    { oid: oidOf('all_notes'), schema: 'app', name: 'all_notes', isForeign: false, hasSequence: false },
  ],
  eventTriggers: [{ name: 'ddl', function: oidOf('on_ddl') }],
  dependencies: [
    uses('atomic', ['function', 'atomic'], { function: 'last' }),
    uses('notes', ['policy', 'own'], { function: 'harmless' }),
    uses('notes', ['default', 'id'], { function: 'nextval' }, 'on write'),
    uses('atomic', ['function', 'atomic'], { relation: 'partner' }),
    uses('all_notes', ['view', '_RETURN'], { relation: 'notes' }),
    uses('tags', ['trigger', 'after_tag'], { function: 'chain' }, 'on write'),
    uses('tags', ['trigger', 'disabled'], { function: 'dynamic' }, 'never'),
    uses('notes', ['cascade', 'tag_of_note'], { relation: 'tags' }, 'on write'),
  ],
  implicit: [],
  aggregates: [{ name: 'total', function: oidOf('transition') }],
}

const ask = (question: Partial<EffectsQuestion>, more: Partial<EffectsCatalogue> = {}) =>
  effectsOf({ ...catalogue, ...more }, { statements: [], reads: [], writes: [], trusted: [], ...question })

/** `object: through` of each refusal. */
const refusals = (question: Partial<EffectsQuestion>, more?: Partial<EffectsCatalogue>): string[] =>
  ask(question, more).refused.map(({ object, through }) => `${object}: ${through.join(' > ')}`)

const calls: readonly (readonly [text: string, refused: readonly string[]])[] = [
  ['select 1', []],
  ['select random(), pg_notify(1, 2), pg_advisory_xact_lock(1), gen_salt(1)', []],
  ['select setval(1, 2)', ['setval(): ']],
  ['select setval from t', []],
  ['select pg_terminate_backend(1), lo_export(1, 2)', ['pg_terminate_backend(): ', 'lo_export(): ']],
  ['select in_python()', ['app.in_python(): ']],
  ['select t.in_python from t', ['app.in_python(): ']],
  ['select harmless()', []],
  ['select "app"."chain"()', ['public.dblink_exec(): app.chain() > app.middle() > app.last()']],
  ['select circle()', ['public.dblink_exec(): app.circle() > app.chain() > app.middle() > app.last()']],
  ['select dynamic()', ['app.dynamic(): ']],
  ['select block()', ['app.block(): ']],
  [
    'select files()',
    [
      'app.files(): ',
      'public.dblink_exec(): app.files() > cascade from app.notes > trigger after_tag on app.tags > app.chain() > app.middle() > app.last()',
    ],
  ],
  ['select commented()', []],
  ['select atomic()', ['public.dblink_exec(): app.atomic() > app.last()', 'app.partner: app.atomic()']],
  ['select reads_partner()', ['app.partner: app.reads_partner()']],
  ['select privilege()', ['setval(): app.privilege() > event trigger ddl > app.on_ddl()']],
  ['select total(x) from t', ['public.dblink_exec(): app.transition() > app.last()']],
  [`select 'setval(1)', "x" -- setval(1)`, []],
]

for (const [text, refused] of calls) {
  t.test(text, (t) => {
    t.strictSame(refusals({ statements: [text] }), refused)
    t.end()
  })
}

t.test('relations', (t) => {
  t.strictSame(refusals({ reads: ['app.notes', 'app.all_notes', 'app.unknown'] }), [])
  t.strictSame(refusals({ reads: ['app.partner'] }), ['app.partner: '])
  const cascade = 'cascade from app.notes > trigger after_tag on app.tags > app.chain() > app.middle() > app.last()'
  t.strictSame(refusals({ writes: ['app.notes'] }), [`public.dblink_exec(): ${cascade}`])
  t.strictSame(refusals({ writes: ['app.all_notes'] }), [`public.dblink_exec(): view app.all_notes > ${cascade}`])
  t.strictSame(ask({ writes: ['app.notes'] }).remaining, [sequencesAdvance])
  t.strictSame(ask({ reads: ['app.notes'] }).remaining, [])
  t.end()
})

t.test('trusted functions, and functions that no statement names', (t) => {
  const statements = ['select chain()']
  t.strictSame(refusals({ statements, trusted: ['app.middle'] }), [])
  t.strictSame(refusals({ statements, trusted: ['dblink_exec'] }), [])
  t.equal(refusals({ statements, trusted: ['other.middle'] }).length, 1)
  t.strictSame(refusals({}, { implicit: [oidOf('cast_it')] }), [
    'pg_terminate_backend(): an operator, cast or type > app.cast_it()',
  ])
  t.end()
})
