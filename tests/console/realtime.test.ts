// Channels, members and the log of realtime in the console's API.
import { RealtimeClient } from '@supabase/realtime-js'
import t from 'tap'
import WebSocket from 'ws'
import type { RealtimeReport } from '../../server/services/console/realtime-protocol.ts'
import type { ViewerToken } from '../../server/services/console/protocol.ts'
import { signInToConsole, startConsoleServer } from '../support/console.ts'

t.test('channels and their members', async (t) => {
  const server = await startConsoleServer(t)
  const client = await signInToConsole(server)
  t.equal((await fetch(`${server.url}/console/api/realtime`)).status, 401)
  const report = async (): Promise<RealtimeReport> =>
    (await client.call('GET', 'realtime')).body.details as RealtimeReport
  t.match(await report(), { isStarted: false, sockets: 0, topics: [], log: null })
  const { token } = (await client.call('POST', 'tokens', { role: 'anon' })).body.details as ViewerToken
  const realtime = new RealtimeClient(`${server.url.replace('http', 'ws')}/realtime/v1`, {
    params: { apikey: token },
    transport: WebSocket as never,
  })
  t.teardown(() => realtime.disconnect())
  const channel = realtime.channel('room-1')
  await new Promise<void>((resolve, reject) => {
    channel.subscribe((status, error) => {
      if (String(status) === 'SUBSCRIBED') resolve()
      else reject(error ?? new Error(status))
    })
  })
  const found = await report()
  t.match(found, {
    isStarted: true,
    sockets: 1,
    topics: [
      { topic: 'room-1', isPrivate: false, memberCount: 1, members: [{ role: 'anon', user: null, isPresent: false }] },
    ],
  })
  t.notMatch(JSON.stringify(found), token)
})
