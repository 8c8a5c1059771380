// Packages and tools that few requests need are loaded at first use, so that the server starts quickly.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

/** What a server with all services does not need for requests to the REST API: of Node.js, of packages, and of `dist/`. */
const loadedLater = {
  packages: [
    '@aws-sdk/client-s3',
    '@fastify/busboy',
    '@opentelemetry/api',
    '@opentelemetry/core',
    '@tus/server',
    'express',
    'marked',
    'nodemailer',
    'openid-client',
    'otpauth',
    'prom-client',
    'qrcode',
    'sharp',
    'srvx',
    'ws',
  ],
  // The Fetch API of Node.js is undici.
  files:
    /^node:(?:internal\/deps\/undici|http2)|\/dist\/(?:tools\/(?:check|doctor|policy-tests|types|audit|database-access|explain|backups)|postgres\/(?:embedded\/(?:embedded|cluster|postmaster)\.|replicas\/replicated|backup\/(?!archive-status))|services\/(?:openapi\/document|auth\/(?:auth-table|admin|mfa)|storage\/(?:storage-table|backends\/s3-)|analysis\/analysis-routes))/,
} as const

t.test('a request to the REST API needs nothing of the tools and of other services', async (t) => {
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
  const packages = new Set(urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []))
  t.ok(packages.has('pg'))
  t.strictSame(
    loadedLater.packages.filter((name) => packages.has(name)),
    [],
  )
  t.strictSame(
    urls.filter((url) => loadedLater.files.test(url)),
    [],
  )
})
