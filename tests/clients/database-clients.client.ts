// Drizzle and Prisma, which connect to the database itself: as its owner, and as users whom the policies restrict.
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'

const scripts = fileURLToPath(new URL('scripts/', import.meta.url))
const server = await startServer(t)
const env = {
  DATABASE_URL: server.databaseUri,
  REST_URL: `${server.url}/rest/v1`,
  API_KEY: server.publishableKey,
  USER_ID: await server.addUser('ann@example.org', 'a long password'),
  OTHER_ID: await server.addUser('bob@example.org', 'a long password'),
}

const byDrizzle =
  'tables by `drizzle-kit pull`; queries, relations, prepared statements and writes as the owner, under policies as users'
await scenario(t, 'drizzle-orm', byDrizzle, async (t, { folder, run }) => {
  const pulled = join(folder, 'pulled')
  const tables = ['--dialect', 'postgresql', '--url', server.databaseUri, '--schemaFilters', 'public']
  await run('drizzle-kit', ['pull', ...tables, '--out', pulled])
  await copyFile(join(scripts, 'drizzle.mjs'), join(folder, 'drizzle.mjs'))
  await run('node', ['drizzle.mjs'], { ...env, PULLED: pulled })
  t.pass('the script has ended without an error')
})

const byPrisma =
  'the client of a schema; nested writes, filters, pages, aggregates, SQL as the owner, under policies as users'
await scenario(t, 'prisma', byPrisma, async (t, { folder, run }) => {
  await copyFile(join(scripts, 'prisma.schema'), join(folder, 'schema.prisma'))
  await writeFile(
    join(folder, 'prisma.config.mjs'),
    "import { defineConfig } from 'prisma/config'\nexport default defineConfig({ schema: 'schema.prisma' })\n",
  )
  // Its installer downloads an engine that only `db pull` and `migrate` use.
  await run('prisma', ['generate'], { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath })
  await copyFile(join(scripts, 'prisma.mjs'), join(folder, 'prisma.mjs'))
  await run('node', ['prisma.mjs'], env)
  t.pass('the script has ended without an error')
  return '`db pull` and `migrate` need a program that is downloaded at its installation, and were not run'
})
