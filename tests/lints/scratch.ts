import { readCheckCatalogue } from '../../server/program/check/catalogue.ts'
import { runLints } from '../../server/program/check/lints.ts'
import { startCluster, stopCluster } from '../support/cluster.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { createTenantsDatabase } from '../support/tenants.ts'
await startCluster()
try {
  for (const create of [createMigratedDatabase, createTenantsDatabase]) {
    const database = await create()
    for (const uri of [database.authenticatorUri, database.adminUri])
      await withClient(uri, async (client) => {
        const start = performance.now()
        await client.query('begin transaction isolation level repeatable read, read only')
        const c = await readCheckCatalogue((text, values) => client.query(text, values), {
          schemas: ['public'],
          anonymousRole: 'anon',
        })
        const mid = performance.now()
        const { findings, unindexed } = runLints(c)
        console.log(
          '=====',
          create.name,
          uri.slice(0, 30),
          (mid - start).toFixed(),
          (performance.now() - mid).toFixed(),
          c.roles
            .filter((r) => r.isApi)
            .map((r) => r.name)
            .join(),
        )
        for (const f of [...findings, ...unindexed.map((u) => u.finding)])
          if (f.dismissed === null)
            console.log(f.level, f.code, f.object.schema, f.object.name, '|', f.reason, '|', f.fix)
        const d = new Map<string, number>()
        for (const f of findings)
          if (f.dismissed) d.set(f.code + ': ' + f.dismissed, (d.get(f.code + ': ' + f.dismissed) ?? 0) + 1)
        console.log(d)
        await client.query('rollback')
      })
    await database.drop()
  }
} finally {
  await stopCluster()
}
