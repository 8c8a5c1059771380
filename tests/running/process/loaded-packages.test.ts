// Packages and tools that few requests need are loaded at first use, so that the server starts quickly.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { createMigratedDatabase } from '../../support/database.ts'
import { says, startProgram } from '../../support/program.ts'

/** The URLs of all files that a program loads. `run` gets variables for it, and resolves when it has ended. */
async function loadedBy(
  t: Pick<Test, 'teardown'>,
  run: (env: Readonly<Record<string, string>>) => Promise<unknown>,
): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-loaded-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  // Node writes the URLs there at its end.
  await run({ NODE_V8_COVERAGE: folder })
  const reports = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
  return reports.flatMap((text) => (JSON.parse(text) as { result: { url: string }[] }).result.map(({ url }) => url))
}

t.test('the service is loaded without the packages of mails, providers and second factors', async (t) => {
  const service = new URL('../../../dist/running/service.js', import.meta.url).href
  const urls = await loadedBy(t, (env) =>
    promisify(execFile)(process.execPath, ['-e', `import(${JSON.stringify(service)})`], {
      env: { PATH: process.env.PATH, ...env },
    }),
  )
  const packages = new Set(urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []))
  t.ok(packages.has('express'))
  for (const name of ['nodemailer', 'openid-client', 'otpauth', 'qrcode', 'sharp', 'marked', '@opentelemetry/core'])
    t.notOk(packages.has(name), name)
})

t.test('serve is loaded without the tools', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const urls = await loadedBy(t, async (env) => {
    const program = startProgram(t, { DATABASE_URL: database.authenticatorUri, ...env })
    await program.line(says('listening'))
    t.equal((await program.call('GET', '/rest/v1/reports')).status, 401)
    program.kill('SIGTERM')
    await program.ended
  })
  t.ok(urls.some((url) => url.endsWith('/dist/running/serve.js')))
  const tools = /\/dist\/tools\/(?:check|doctor|policy-tests|types|audit|database-access|explain|backups)\//
  t.strictSame(
    urls.filter((url) => tools.test(url)),
    [],
  )
})
