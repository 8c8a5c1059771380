// Limits of roles hold for each request of a batch.
import t from 'tap'
import { startBatchService } from '../support/batch-service.ts'

const service = await startBatchService(t, 'batch_limits')

t.test('the greatest cost of a plan', async (t) => {
  await service.database.query(`alter role ${service.role} set pgrst.max_cost = '50'`)
  const { call } = await service.start({})
  const send = async (...urls: readonly string[]) =>
    call('POST', '/rest/v1/$batch', {
      headers: await service.as('ann'),
      body: {
        requests: [
          { id: 'write', method: 'POST', url: '/docs', body: { id: 'x' } },
          ...urls.map((url, index) => ({ id: `r${index}`, method: 'GET', url })),
        ],
      },
    })
  const cheap = '/docs?id=eq.x&select=id'
  const expensive = '/docs?select=id,data,tags&order=data'
  const refused = await send(cheap, expensive)
  t.match([refused.status >= 400, refused.body], [true, { request: 'r1' }], refused.text)
  t.strictSame((await service.database.query('select * from api.docs')).rows, [], 'nothing has changed')
  const answer = await send(cheap, cheap)
  t.equal(answer.status, 200, answer.text)
  t.match(answer.body, { responses: [{ status: 201 }, { body: [{ id: 'x' }] }, { body: [{ id: 'x' }] }] })
})
