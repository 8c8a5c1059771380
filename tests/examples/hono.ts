// The REST API in a Hono application. Any server that uses the Fetch standard works in the same way.
import { Hono } from 'hono'
import { createRest } from 'rowhouse'
import { fetchHandler } from 'rowhouse/fetch'
import { connect } from 'rowhouse/postgres'

const database = connect(process.env.EXAMPLE_DATABASE_URL ?? '')
const identify = () => ({ role: 'example_reader', claims: {} })
const rest = await createRest({ database, schemas: ['example'], identify })
const handler = fetchHandler(rest, { basePath: '/rest' })
export const app = new Hono()
app.all('/rest/*', (context) => handler(context.req.raw))
app.get('/hello', (context) => context.text('hello'))

export async function close(): Promise<void> {
  await rest.close()
  await database.close()
}
