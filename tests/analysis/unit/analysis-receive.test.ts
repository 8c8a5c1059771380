// Receiving bodies in chunks: in order, complete, and with backpressure.
import { request as send } from 'node:http'
import t from 'tap'
import { BodyBudget } from '../../../server/rest/request/body-budget.ts'
import { ClientGone, receivePieces } from '../../../server/services/analysis/receive.ts'
import { listen } from '../../support/listening.ts'

const budget = () => new BodyBudget({ limit: 1_000_000, maxWait: 60_000, exhausted: () => new Error('exhausted') })

t.test('a body is complete only when its last chunk has been consumed', async (t) => {
  for (const size of [1, 1000, 60_000, 300_000]) {
    const taken: Buffer[] = []
    let isTaking = false
    const url = await listen(t, (request, response) => {
      const share = budget().open()
      void receivePieces(
        request,
        { limit: 1_000_000, share, tooLarge: () => new Error('too large') },
        async (piece) => {
          if (isTaking) t.fail('two pieces at once')
          isTaking = true
          await new Promise((resolve) => setTimeout(resolve, 20))
          taken.push(piece)
          isTaking = false
        },
      ).then(
        () => response.end(`${isTaking ? 'taking' : 'taken'} ${Buffer.concat(taken).length}`),
        (error: unknown) => response.end(String(error)),
      )
    })
    const body = Uint8Array.from({ length: size }, (_, index) => index % 251)
    const answer = await fetch(url, { method: 'POST', body })
    t.equal(await answer.text(), `taken ${size}`)
    t.ok(Buffer.concat(taken).equals(body), 'in order')
  }
})

t.test('errors of the request and of the consumer end the body', async (t) => {
  const outcome = (take: () => Promise<void> | undefined, limit = 100) =>
    new Promise<{ url: string; result: Promise<unknown> }>((resolve) => {
      let settle: (value: unknown) => void = () => undefined
      const result = new Promise<unknown>((done) => (settle = done))
      void listen(t, (request, response) => {
        receivePieces(request, { limit, share: budget().open(), tooLarge: () => new Error('too large') }, take)
          .then(() => 'complete')
          .catch((error: unknown) => error)
          .then((value) => (settle(value), response.end()))
          .catch((error: unknown) => t.threw(error))
      }).then((url) => resolve({ url, result }))
    })
  const post = (url: string, body: string) => fetch(url, { method: 'POST', body }).catch(() => undefined)
  const thrown = await outcome(() => {
    throw new Error('no')
  })
  void post(thrown.url, 'x')
  t.match(await thrown.result, { message: 'no' })
  const rejected = await outcome(() => Promise.reject(new Error('later')))
  void post(rejected.url, 'x')
  t.match(await rejected.result, { message: 'later' })
  const large = await outcome(() => undefined, 2)
  void post(large.url, 'xyz')
  t.match(await large.result, { message: 'too large' })
  const gone = await outcome(() => undefined)
  const request = send(gone.url, { method: 'POST', headers: { 'Content-Length': '50' } })
  request.on('error', () => undefined)
  request.write('x', () => request.destroy())
  t.ok((await gone.result) instanceof ClientGone)
})
