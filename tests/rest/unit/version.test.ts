import { readFileSync } from 'node:fs'
import t from 'tap'
import { serverName, version } from '../../../server/common/version.ts'

t.test('the version is that of package.json', (t) => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  t.equal(version, (JSON.parse(text) as { version: string }).version)
  t.ok(serverName.endsWith(` rowhouse/${version}`))
  t.end()
})
