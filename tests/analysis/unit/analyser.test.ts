// The queue in front of the analyser process.
import t from 'tap'
import { Analyser } from '../../../server/services/analysis/analyser.ts'

const nothing = (): void => undefined

t.test('an image whose client has disconnected before it was queued starts no process', async (t) => {
  const analyser = new Analyser(
    { classifier: null, detector: null, pixelLimit: 1e6, threads: 1, queueLimit: 1, timeout: 1000 },
    { waited: nothing, decoded: nothing, inferred: nothing, killed: nothing, warned: nothing },
  )
  t.teardown(() => analyser.stop())
  await t.rejects(analyser.analyse(Buffer.from('x'), AbortSignal.abort()), { message: 'The request was cancelled.' })
  t.equal(analyser.queueLength, 0)
  t.equal(analyser.pid, undefined)
})
