// Packages that few requests need are loaded at first use, so that the server starts quickly.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

t.setTimeout(120_000)

t.test('the service is loaded without the packages of mails, providers and second factors', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-loaded-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const service = new URL('../../dist/running/service.js', import.meta.url).href
  // Node writes the URLs of all loaded files there at its end.
  const env = { PATH: process.env.PATH, NODE_V8_COVERAGE: folder }
  await promisify(execFile)(process.execPath, ['-e', `import(${JSON.stringify(service)})`], { env })
  const reports = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
  const urls = reports.flatMap((text) =>
    (JSON.parse(text) as { result: { url: string }[] }).result.map(({ url }) => url),
  )
  const packages = new Set(urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []))
  t.ok(packages.has('express'))
  for (const name of ['nodemailer', 'openid-client', 'otpauth', 'qrcode', 'sharp', 'marked', '@opentelemetry/core'])
    t.notOk(packages.has(name), name)
})
