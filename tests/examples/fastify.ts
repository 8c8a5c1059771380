// The REST API on Fastify's raw request and response. Its parsers must leave the body alone.
import { fastify } from 'fastify'
import { createRest } from 'rowhouse'
import { nodeHandler } from 'rowhouse/node'
import { connect } from 'rowhouse/postgres'

const database = connect(process.env.EXAMPLE_DATABASE_URL ?? '')
const identify = () => ({ role: 'example_reader', claims: {} })
const rest = await createRest({ database, schemas: ['example'], identify })
const handler = nodeHandler(rest, { basePath: '/rest' })
const app = fastify()
app.get('/hello', () => 'hello')
app.register((api, _options, done) => {
  api.removeAllContentTypeParsers()
  api.addContentTypeParser('*', (_request, _body, parsed) => parsed(null))
  api.all('/rest/*', (request, reply) => {
    reply.hijack()
    handler(request.raw, reply.raw)
  })
  done()
})
await app.listen({ port: 0, host: '127.0.0.1' })
export const { server } = app

export async function close(): Promise<void> {
  await app.close()
  await rest.close()
  await database.close()
}
