// The REST API in a node:http server.
import { createServer } from 'node:http'
import { createRest } from 'rowhouse'
import { nodeHandler } from 'rowhouse/node'
import { connect } from 'rowhouse/postgres'

const database = connect(process.env.EXAMPLE_DATABASE_URL ?? '')
const identify = () => ({ role: 'example_reader', claims: {} })
const rest = await createRest({ database, schemas: ['example'], identify })
export const server = createServer(nodeHandler(rest, { basePath: '/rest' })).listen(0, '127.0.0.1')

export async function close(): Promise<void> {
  server.close()
  await rest.close()
  await database.close()
}
