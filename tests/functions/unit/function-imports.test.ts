// What functions import: specifiers and import maps.
import { mkdtemp, writeFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { readImportMap } from '../../../server/services/functions/runtime/bundle/import-map.ts'
import { isVersionInRange } from '../../../server/services/functions/runtime/bundle/installed-package.ts'
import { parseSpecifier, type Specifier } from '../../../server/services/functions/runtime/bundle/specifier.ts'

const packages: readonly [specifier: string, candidates: readonly string[], install: string][] = [
  ['npm:hono', ['hono'], 'npm install hono'],
  ['npm:hono@4', ['hono'], 'npm install hono@4'],
  ['npm:hono@4/', ['hono'], 'npm install hono@4'],
  ['npm:/hono@4/cors', ['hono/cors'], 'npm install hono@4'],
  [
    'npm:@supabase/supabase-js@^2.39/dist/x',
    ['@supabase/supabase-js/dist/x'],
    "npm install '@supabase/supabase-js@^2.39'",
  ],
  ['npm:stripe@>=1 <3', ['stripe'], "npm install 'stripe@>=1 <3'"],
  ["npm:a@'; rm -rf x;'", ['a'], "npm install 'a@; rm -rf x;'"],
  ['jsr:@std/path@1/posix', ['@jsr/std__path/posix', '@std/path/posix'], 'npx jsr add @std/path@1'],
  [
    'jsr:@supabase/supabase-js@2',
    ['@jsr/supabase__supabase-js', '@supabase/supabase-js'],
    'npx jsr add @supabase/supabase-js@2',
  ],
  ['https://esm.sh/stripe@14.21.0?target=deno&no-check', ['stripe'], 'npm install stripe@14.21.0'],
  [
    'https://esm.sh/v135/@supabase/supabase-js@2/x.js',
    ['@supabase/supabase-js/x.js'],
    'npm install @supabase/supabase-js@2',
  ],
  ['https://esm.sh/*preact@10/hooks', ['preact/hooks'], 'npm install preact@10'],
  ['lodash/fp', ['lodash/fp'], 'npm install lodash'],
]

t.test('packages', async (t) => {
  for (const [text, candidates, install] of packages) {
    const { range, ...specifier } = parseSpecifier(text) as Extract<Specifier, { kind: 'package' }>
    t.strictSame(specifier, { kind: 'package', candidates, install }, text)
    t.equal(install.replaceAll("'", '').endsWith(`@${range}`), range !== undefined && !range.includes("'"), text)
  }
})

t.test('versions', async (t) => {
  const rows: readonly [version: string, range: string, isInRange: boolean][] = [
    ['2.3.4', '2', true],
    ['2.3.4', '^2.1', true],
    ['2.3.4', '>=1 <3', true],
    ['2.3.4', '~2.2', false],
    ['2.3.4', '2.3.5', false],
    ['2.3.4', '11.x', false],
    ['2.3.4', 'latest', true],
  ]
  for (const [version, range, isInRange] of rows) t.equal(isVersionInRange(version, range), isInRange, range)
})

t.test('everything else', async (t) => {
  const others: readonly [specifier: string, kind: string][] = [
    ['./a.ts', 'file'],
    ['../_shared/cors.ts', 'file'],
    ['..', 'file'],
    ['/project/a.ts', 'file'],
    ['file:///project/a.ts', 'file'],
    ['node:fs', 'builtin'],
    ['fs/promises', 'builtin'],
    ['node:none', 'unknown'],
    ['jsr:@supabase/functions-js/edge-runtime.d.ts', 'types'],
    ['https://esm.sh/@supabase/functions-js/src/edge-runtime.d.ts', 'types'],
    ['https://deno.land/std@0.177.0/http/server.ts', 'standard server'],
    ['https://deno.land/std/http/server.ts', 'standard server'],
    ['https://deno.land/std@0.177.0/http/file_server.ts', 'unknown'],
    ['https://deno.land/x/oak/mod.ts', 'unknown'],
    ['https://esm.sh/gh/owner/name', 'unknown'],
    ['http://localhost/x.ts', 'unknown'],
    ['jsr:std/path', 'unknown'],
    ['npm:', 'unknown'],
    ['data:text/javascript,1', 'unknown'],
  ]
  for (const [text, kind] of others) t.equal(parseSpecifier(text).kind, kind, text)
})

t.test('import maps', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'import-map-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const read = async (content: string) => {
    const path = join(folder, 'deno.json')
    await writeFile(path, content)
    return readImportMap(path)
  }
  const map = await read(`{
    // "imports": { "commented": "out" },
    "imports": {
      "hono": "npm:hono@4", /* and hono/cors */
      "hono/jsx": "./jsx.ts",
      "@/": "./src/",
      "@/deep/": "../deep/",
      "text": "jsr:@std/text", "url//": "https://esm.sh/x//y/", "quoted \\" // key": "npm:q",
    },
    "scopes": { "./old/": { "hono": "npm:hono@3" } },
    "compilerOptions": { "jsx": "react-jsx" },
  }`)
  const importer = join(folder, 'functions/a/index.ts')
  const rows: readonly [specifier: string, result: string][] = [
    ['hono', 'npm:hono@4'],
    ['hono/cors', 'npm:hono@4/cors'],
    ['hono/jsx', join(folder, 'jsx.ts')],
    ['@/a.ts', join(folder, 'src/a.ts')],
    ['@/deep/a.ts', join(folder, '../deep/a.ts')],
    ['text/x', 'jsr:@std/text/x'],
    ['url//a', 'https://esm.sh/x//y/a'],
    ['quoted " // key', 'npm:q'],
    ['unmapped', 'unmapped'],
    ['toString', 'toString'],
    ['__proto__', '__proto__'],
  ]
  for (const [specifier, result] of rows) t.equal(map.resolve(specifier, importer), result, specifier)
  t.equal(map.resolve('hono', join(folder, 'old/x.ts')), 'npm:hono@3')
  t.equal(map.resolve('@/a.ts', join(folder, 'old/x.ts')), join(folder, 'src/a.ts'))
  t.strictSame(map.compilerOptions, { jsx: 'react-jsx' })

  await t.rejects(read('[]'), { message: 'must be an object' })
  await t.rejects(read('{ "imports": [] }'), { message: '"imports" must be an object' })
  await t.rejects(read('{ "imports": { "a": 1 } }'), { message: '"imports": the address of "a" must be a string' })
  await t.rejects(read('{ imports: {} }'), SyntaxError)
})
