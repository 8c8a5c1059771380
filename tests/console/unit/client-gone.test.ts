// Clients that disconnect while their session is looked up: neither runs nor streams go on for them.
import { EventEmitter, once } from 'node:events'
import { createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { goneSignal } from '../../../server/services/client-gone.ts'
import { streamRequests } from '../../../server/services/console/request-stream.ts'

/** The response of a request whose client has disconnected. */
async function closedResponse(): Promise<ServerResponse> {
  const emitter = new EventEmitter()
  const server = createServer((_request, response) => emitter.emit('response', response)).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const request = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  request.on('error', () => undefined)
  const [response] = (await once(emitter, 'response')) as [ServerResponse]
  request.destroy()
  await once(response, 'close')
  return response
}

t.test('the signal of a client that is gone already', async (t) => {
  t.equal(goneSignal(await closedResponse()).aborted, true)
})

t.test('nothing is watched for it', async (t) => {
  let watchers = 0
  const watch = (): (() => void) => {
    watchers++
    return () => watchers--
  }
  streamRequests({ worker: null, watch }, await closedResponse(), () => Promise.resolve())
  t.equal(watchers, 0)
})
