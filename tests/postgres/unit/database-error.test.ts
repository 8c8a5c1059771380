// What errors of a connection mean.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import t from 'tap'
import { isUnreachable, sqlState } from '../../../server/postgres/database-error.ts'

t.test('a statement is sent on a connection that the server has just ended', async (t) => {
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').resume()
  await once(socket, 'end')
  const failed = once(socket, 'error')
  socket.write('Q')
  const [error] = (await failed) as readonly unknown[]
  t.match(error, { code: 'EPIPE', syscall: undefined })
  t.equal(sqlState(error), undefined, 'its code is not a SQLSTATE')
  t.ok(isUnreachable(error))
})

t.test('a statement raises an error with the same code', (t) => {
  const error = Object.assign(new Error('no'), { code: 'EPIPE', severity: 'ERROR' })
  t.equal(sqlState(error), 'EPIPE')
  t.notOk(isUnreachable(error))
  t.end()
})
