// A batch of ten inserts against ten requests, which the same client sends one after the other and at once.
import { cleanUp, databaseName, marker, serviceToken, userId } from '../dataset.ts'
import { median } from '../results.ts'
import type { MeasureExtension } from './measure.ts'

const inserts = 10
/** How much sooner the batch has to be done than ten requests one after the other. */
const goal = 3

const row = (index: number) => ({
  user_id: userId(1),
  image_uri: `https://images.example.org/batch/${index}.jpg`,
  image_source: marker,
  result_label: 'dent',
  confidence: 50,
  is_positive: true,
  recommendation: 'none',
  model_version: 'classifier-1',
})

/** Measures the milliseconds of ten inserts in three ways, and prints them with the goal. */
export const measureBatch: MeasureExtension = async ({ startWith, postgres, options, print }) => {
  const { url } = await startWith({})
  const headers = { Authorization: `Bearer ${serviceToken()}`, 'Content-Type': 'application/json' }
  const send = async (path: string, body: unknown): Promise<void> => {
    const response = await fetch(`${url.href}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${text}`)
  }
  const rows = Array.from({ length: inserts }, (_, index) => row(index))
  const requests = rows.map((body, index) => ({ id: `${index}`, method: 'POST', url: '/classification_runs', body }))
  const ways = {
    batch: () => send('/$batch', { requests }),
    inTurn: async () => {
      for (const body of rows) await send('/classification_runs', body)
    },
    atOnce: async () => {
      await Promise.all(rows.map((body) => send('/classification_runs', body)))
    },
  }
  const times = { batch: [] as number[], inTurn: [] as number[], atOnce: [] as number[] }
  const end = performance.now() + options.rounds * options.seconds * 1000
  for (let round = 0; round < 20 || performance.now() < end; round++) {
    for (const way of ['batch', 'inTurn', 'atOnce'] as const) {
      const start = performance.now()
      await ways[way]()
      // The first rounds prepare statements and connections.
      if (round >= 10) times[way].push(performance.now() - start)
    }
  }
  await cleanUp(postgres.adminUri(databaseName))
  const [batch = NaN, inTurn = NaN, atOnce = NaN] = [times.batch, times.inTurn, times.atOnce].map(median)
  print(
    `batch of ${inserts} inserts: ${batch.toFixed(2)} ms; ${inserts} requests one after the other: ` +
      `${inTurn.toFixed(2)} ms, at once: ${atOnce.toFixed(2)} ms; ${(inTurn / batch).toFixed(1)} times as fast (goal: ${goal})`,
  )
  return { batch, inTurn, atOnce }
}
