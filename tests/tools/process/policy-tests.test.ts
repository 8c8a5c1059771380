// `rowhouse test` as a program: the commands of its guide in an empty folder.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { command } from '../../support/program.ts'
import { readmeSection, withProgram } from '../../support/readme-section.ts'

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-policy-tests-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

type Ran = { readonly code: number; readonly out: string; readonly err: string }

const shell = (script: string): Promise<Ran> =>
  new Promise((resolve) => {
    const env = Object.fromEntries(
      Object.entries(process.env).filter(
        ([name]) => !/^(PGRST_|PG|DATABASE_URL|MIGRATION|DATA_DIR|SERVICES)/.test(name),
      ),
    )
    const text = `set -e\n${withProgram(script, command())}`
    execFile('sh', ['-c', text], { cwd: folder, env, maxBuffer: 1e8 }, (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err }),
    )
  })

t.test('from an empty folder to a tested policy', async (t) => {
  const script = readmeSection('policy-tests').replaceAll(/^ {4}/gm, '')
  t.equal(script.match(/^(?:rowhouse|tee) /gm)?.length, 5, 'five commands')
  const { code, out, err } = await shell(script)
  t.equal(code, 0, err)
  t.match(out, /Wrote policy-tests\/matrix\.yaml: 1 table, \d+ callers/)
  t.match(out, /^ok \d+ - ann@example\.org: delete public\.notes$/m)
  t.match(out, /^ok \d+ - noticed: public\.notes: policy "own_notes": using true$/m)
  t.match(
    out,
    /^TAP version 14\n1\.\.\d+\n# \d+ tests: 0 failed\n# \d+ mutants: 0 unnoticed, 0 accepted\nok 1 - /m,
    'the summary comes first',
  )
  const matrix = await readFile(join(folder, 'policy-tests', 'matrix.yaml'), 'utf8')
  t.match(
    matrix,
    /select:\n {6}anon: "42501"\n {6}authenticated: \[\]\n {6}service_role: \[1, 2\]\n {6}ann@example\.org: \[1\]/,
  )
})

t.test('tests of the guide pass, and a failing one shows the difference', async (t) => {
  const yaml = readmeSection('policy-tests-file')
  await writeFile(join(folder, 'policy-tests', 'notes.yaml'), yaml)
  await writeFile(
    join(folder, 'policy-tests', 'wrong.yaml'),
    'tests:\n  - as: ann@example.org\n    request: GET /rest/v1/notes?select=id\n    rows: [{ id: 2 }]\n',
  )
  const { code, out } = await shell('rowhouse test --json')
  t.equal(code, 1)
  const { tests } = JSON.parse(out) as { tests: { name: string; ok: boolean }[] }
  t.strictSame(
    tests.filter(({ ok }) => !ok),
    [
      {
        name: 'ann@example.org: GET /rest/v1/notes?select=id',
        file: 'policy-tests/wrong.yaml',
        line: 2,
        ok: false,
        problem: {
          message: 'the rows differ',
          expected: [{ id: 2 }],
          actual: [{ id: 1 }],
          difference: ['- {"id":2}', '+ {"id":1}'],
        },
      },
    ],
  )
  t.ok(tests.some(({ name }) => name === 'a note cannot be given away'))
})

t.test('faults of files are reported before any database is created', async (t) => {
  await writeFile(
    join(folder, 'policy-tests', 'wrong.yaml'),
    'tests:\n  - as: anon\n    request: nothing\n    rows: 0\n',
  )
  const { code, err } = await shell('rowhouse test --db-url postgresql://nobody@127.0.0.1:1/nothing')
  t.equal(code, 2)
  t.equal(
    err,
    'policy-tests/wrong.yaml:3: tests.0.request must be a method and a path, such as: GET /rest/v1/tasks?select=id\n',
  )
  t.strictSame((await readdir(join(folder, 'policy-tests'))).sort(), ['matrix.yaml', 'notes.yaml', 'wrong.yaml'])
})
