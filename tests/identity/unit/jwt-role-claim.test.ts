import t from 'tap'
import { parseRoleClaim, roleInClaims } from '../../../server/identity/role-claim/role-claim.ts'

const claims = {
  role: 'web_user',
  postgrest: { a_role: 'author', roles: ['other', 'author'], level: 7, active: true, nothing: null },
  'https://www.example.com/roles': [{ value: 'author' }, { value: 'editor' }],
  mixed: [1, { role: 'inner' }, 'text', ['deep']],
  b: { z: 'last', a: 'first' },
  ключ_1: 'unicode',
  empty: '',
}

// path, role found (undefined: none), normal form if it differs
const found: readonly [string, string | undefined, string?][] = [
  ['$.role', 'web_user'],
  ['$', JSON.stringify(claims)],
  ['$.postgrest.a_role', 'author'],
  ['$.postgrest.roles[1]', 'author'],
  ['$.postgrest.roles[-1]', 'author'],
  ['$.postgrest.roles[-3]', undefined],
  ['$.postgrest.roles[3]', undefined],
  ['$.postgrest.roles', '["other","author"]'],
  ['$.postgrest.level', '7'],
  ['$.postgrest.active', 'true'],
  ['$.postgrest.nothing', 'null'],
  ['$.empty', ''],
  ['$.myRole', undefined],
  ['$.role.inner', undefined],
  ['$.role[0]', undefined],
  ['$.constructor', undefined],
  ['$.toString', undefined],
  ["$['__proto__']", undefined],
  ['$.postgrest.roles.length', undefined],
  ['$.ключ_1', 'unicode'],
  ['$ .postgrest [ "roles" ] [0]', 'other', "$.postgrest['roles'][0]"],
  ['$["https://www.example.com/roles"][0].value', 'author', "$['https://www.example.com/roles'][0].value"],
  ["$['https://www.example.com/roles'][1]['value']", 'editor'],
  ['$.b.*', 'first'],
  ['$.b[*]', 'first'],
  ['$..a_role', 'author'],
  ['$..[1]', '{"value":"editor"}'],
  ['$..*', '{"z":"last","a":"first"}'],
  ['$.postgrest.roles[1:]', 'author', '$.postgrest.roles[1::1]'],
  ['$.postgrest.roles[:1]', 'other', '$.postgrest.roles[:1:1]'],
  ['$.postgrest.roles[::-1]', 'author'],
  ['$.postgrest.roles[5:0:-1]', 'author'],
  ['$.postgrest.roles[0:2:0]', undefined],
  ['$.postgrest.roles[-1:]', 'author', '$.postgrest.roles[-1::1]'],
  ['$.postgrest.roles[9,1,0]', 'author'],
  ['$.postgrest.roles[?(@ == "author")]', 'author', "$.postgrest.roles[?(@ == 'author')]"],
  ["$.postgrest.roles[?@ != 'other']", 'author'],
  ["$.postgrest.roles[?@ > 'b']", 'other'],
  ["$.postgrest.roles[?@ >= 'other' && @ <= 'other']", 'other'],
  ["$.postgrest.roles[?@ < 'b' || @ == 'x']", 'author'],
  ["$.postgrest.roles[?!(@ == 'other')]", 'author'],
  ["$.postgrest.roles[?search(@, '^au')]", 'author'],
  ["$.postgrest.roles[?!search(@, '^au')]", 'other'],
  ["$.postgrest.roles[?search(@, '[[:digit:]]')]", undefined],
  ["$.postgrest.roles[?search(@, '^[[:alpha:]]{6}$')]", 'author'],
  ["$.postgrest.roles[?search(@, $.b.a)]", undefined],
  ["$.postgrest.roles[?search('author', @)]", 'author'],
  ["$['https://www.example.com/roles'][?@.value == 'editor'].value", 'editor'],
  ["$['https://www.example.com/roles'][?@['value']=='editor'].value", 'editor',
    "$['https://www.example.com/roles'][?@.value == 'editor'].value"],
  ['$.mixed[?@.role]', '{"role":"inner"}'],
  ['$.mixed[?!@.role]', '1'],
  ['$.mixed[?@ == 1]', '1', '$.mixed[?@ == 1.0]'],
  ['$.mixed[?@ == -0]', undefined, '$.mixed[?@ == 0.0]'],
  ['$.mixed[?@ < 1.5e0]', '1', '$.mixed[?@ < 1.5]'],
  ['$.mixed[?@[0] == "deep"][0]', 'deep', "$.mixed[?@[0] == 'deep'][0]"],
  ['$.postgrest[?@ == true]', 'true'],
  ['$.postgrest[?@ == null]', 'null'],
  ["$.mixed[?@ == $.mixed[2]]", 'text'],
  ["$.mixed[?@.none == $.none]", '1'],
  ["$['a\\'b\\\\\\n\\u00e9']", undefined, "$['a\\'b\\\\\\né']"],
] // prettier-ignore

t.test('a JSON path selects the role', async (t) => {
  for (const [path, role, normal = path] of found) {
    const claim = parseRoleClaim(path)
    if (claim.kind === 'invalid') {
      t.fail(claim.message)
      continue
    }
    t.strictSame(
      { path, kind: claim.kind, role: roleInClaims(claim, claims), normal: claim.text },
      { path, kind: 'json path', role, normal },
    )
    const again = parseRoleClaim(claim.text)
    t.equal(again.kind === 'json path' ? again.text : '', claim.text, `${path}: the normal form is stable`)
  }
})

const legacy: readonly [string, string | undefined, string][] = [
  ['.role', 'web_user', '."role"'],
  ['.postgrest.a_role', 'author', '."postgrest"."a_role"'],
  ['.postgrest.roles[1]', 'author', '."postgrest"."roles"[1]'],
  ['.postgrest.roles[9]', undefined, '."postgrest"."roles"[9]'],
  ['."https://www.example.com/roles"[0].value', 'author', '."https://www.example.com/roles"[0]."value"'],
  ['.myRole', undefined, '."myRole"'],
  ['.constructor', undefined, '."constructor"'],
  ['.postgrest.roles[?(@ == "author")]', 'author', '."postgrest"."roles"[?(@ == "author")]'],
  ['.postgrest.roles[?(@ != "other")]', 'author', '."postgrest"."roles"[?(@ != "other")]'],
  ['.postgrest.roles[?(@ ^== "au")]', 'author', '."postgrest"."roles"[?(@ ^== "au")]'],
  ['.postgrest.roles[?(@ ==^ "thor")]', 'author', '."postgrest"."roles"[?(@ ==^ "thor")]'],
  ['.postgrest.roles[?(@   *==   "uth")]', 'author', '."postgrest"."roles"[?(@ *== "uth")]'],
  ['.mixed[?(@ == "text")]', 'text', '."mixed"[?(@ == "text")]'],
  ['.role[?(@ == "web_user")]', undefined, '."role"[?(@ == "web_user")]'],
  ['."é1\\"', undefined, '."\\233\\&1\\\\"'],
]

t.test('a path in the legacy syntax selects the role', async (t) => {
  for (const [path, role, normal] of legacy) {
    const claim = parseRoleClaim(path)
    if (claim.kind === 'invalid') {
      t.fail(claim.message)
      continue
    }
    t.strictSame(
      { path, kind: claim.kind, role: roleInClaims(claim, claims), normal: claim.text },
      { path, kind: 'legacy', role, normal },
    )
  }
})

const invalid = [
  '', ' ', 'role', 'role.other', '.role##', '.my_role;;domain', '.#$$%&$%/', '1234', '.role[?(@ =)]', '.', '.a.', '.a[b]',
  '.a[?(@ == "b")].c', '.a[?(@ == b)]', '$.my_role;;domain', '@@.role.other', '@.role', ' $.role', '$.role ', '$.', '$..',
  '$.1a', '$[', '$[]', '$[01]', '$[-0]', '$[1.5]', '$[9007199254740992]', '$["a]', "$['a\"]", "$['\\x']", "$['\\ud800']",
  '$["a\nb"]', '$[?]', '$[?@ ==]', '$[?(@ == 1]', '$[?@.* == 1]', '$[?@[0:1] == 1]', '$[?@ == -1.5]', '$[?length(@) > 1]',
  '$[?search(@)]', '$[?true]', '$[?@ = 1]', '$.a-b', '$.a b', '$.a[?@ && ]', `$${'[?(@'.repeat(2000)}`,
] // prettier-ignore

t.test('invalid paths are rejected', async (t) => {
  for (const path of invalid) {
    t.strictSame(parseRoleClaim(path), {
      kind: 'invalid',
      message: `failed to parse role-claim-key value (${path})`,
    })
  }
})
