// A server that listens for the duration of a test.
import { createServer, type RequestListener } from 'node:http'
import type { Test } from 'tap'
import { handleUpgrades, type UpgradeHandler } from '../../server/http/upgrade.ts'

/** Starts a server on a free port, and stops it with the test. Returns its address, without a trailing slash. */
export async function listen(
  t: Pick<Test, 'teardown'>,
  handler: RequestListener,
  upgrade?: UpgradeHandler,
): Promise<string> {
  const server = createServer(handler)
  // On a busy machine an idle connection could be closed just when `fetch` sends a request on it.
  server.keepAliveTimeout = 0
  if (upgrade) handleUpgrades(server, {}, upgrade)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port')
  return `http://127.0.0.1:${address.port}`
}
