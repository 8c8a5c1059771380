// The REST API as Express middleware.
import express from 'express'
import { createRest } from 'rowhouse'
import { nodeHandler } from 'rowhouse/node'
import { connect } from 'rowhouse/postgres'

const database = connect(process.env.EXAMPLE_DATABASE_URL ?? '')
const identify = () => ({ role: 'example_reader', claims: {} })
const rest = await createRest({ database, schemas: ['example'], identify })
const app = express()
app.use('/rest', nodeHandler(rest))
app.get('/hello', (_request, response) => void response.send('hello'))
export const server = app.listen(0, '127.0.0.1')

export async function close(): Promise<void> {
  server.close()
  await rest.close()
  await database.close()
}
