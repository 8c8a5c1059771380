// Checks of ports before anything is started.
import { createServer } from 'node:http'
import t from 'tap'
import { loadConfig } from '../../server/config/load.ts'
import { canReusePort, checkPorts, hostToListenOn, reusePortAdvice } from '../../server/running/ports.ts'

const server = createServer()
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
t.teardown(() => server.close())
const address = server.address()
const taken = String(typeof address === 'object' && address ? address.port : 0)

t.test('releases of Node.js that support reusePort', async (t) => {
  for (const [version, can] of [
    ['18.20.4', false],
    ['20.20.2', false],
    ['22.11.0', false],
    ['22.12.0', true],
    ['22.23.3', true],
    ['23.0.0', false],
    ['23.1.0', true],
    ['24.0.0', true],
    ['26.10.0', true],
  ] as const) {
    t.equal(canReusePort(version), can, version)
  }
})

t.test('host names and wildcards', async (t) => {
  for (const [name, host] of [
    ['*', '::'],
    ['!6', '::'],
    ['*4', '0.0.0.0'],
    ['!4', '0.0.0.0'],
    ['127.0.0.1', '127.0.0.1'],
  ] as const) {
    t.equal(hostToListenOn(name), host, name)
  }
})

t.test('ports that are in use or forbidden', async (t) => {
  const inUse = `port ${taken} on 127.0.0.1 is in use. Stop the program that uses it, or choose another port, such as `
  const rows: readonly (readonly [Record<string, string>, string | null])[] = [
    [{ PORT: '0' }, null],
    [{ PORT: taken }, `PORT: ${inUse}`],
    [{ PGRST_SERVER_PORT: taken }, `PGRST_SERVER_PORT: ${inUse}`],
    [{ PORT: '0', PGRST_ADMIN_SERVER_PORT: taken }, `PGRST_ADMIN_SERVER_PORT: ${inUse}`],
    [{ PORT: taken, PGRST_SERVER_UNIX_SOCKET: '/nowhere/socket' }, null],
    [{ PORT: '1', HOST: '192.0.2.1' }, 'HOST: 192.0.2.1 is not an address of this machine. Choose 127.0.0.1 '],
  ]
  for (const [env, message] of rows) {
    const checked = checkPorts(loadConfig({ env: { HOST: '127.0.0.1', ...env } }))
    if (message === null) await t.resolves(checked, JSON.stringify(env))
    else await t.rejects(checked, { name: 'PortError', message }, JSON.stringify(env))
  }
})

t.test('two processes can share a port', async (t) => {
  const loaded = loadConfig({ env: { PGRST_SERVER_REUSEPORT: 'true', PORT: '0' } })
  const checked = checkPorts(loaded)
  if (canReusePort(process.versions.node)) await t.resolves(checked)
  else
    await t.rejects(checked, { name: 'ConfigError', message: /PGRST_SERVER_REUSEPORT: needs Node\.js 22\.12 or later/ })
  const advice = await reusePortAdvice(loaded)
  if (advice !== undefined) t.match(advice, /^PGRST_SERVER_REUSEPORT: set net\.ipv4\.tcp_migrate_req=1/)
  t.equal(await reusePortAdvice(loadConfig({ env: {} })), undefined)
})
