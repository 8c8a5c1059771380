// Metrics of all processes of `server-workers` at the admin server of the first one. Each series has the label `worker`, and
// nothing is added up: a sum would fall when a worker does not answer or is replaced, which `rate()` takes for a restart.
import { randomUUID } from 'node:crypto'
import { isInTime } from '../common/timers.ts'
import type { Exposition } from './operations/exposition.ts'
import { reportToPrimary, type MetricsRequest, type WorkerMetrics } from './workers.ts'

type Expose = (openMetrics: boolean) => Promise<Exposition>

/** Milliseconds that the other workers have to answer. */
const answerLimit = 1000

/** Answers requests for the metrics of this worker. */
export function answerMetrics(worker: number, expose: Expose): void {
  process.on('message', (message: Partial<MetricsRequest>) => {
    const { kind, id, openMetrics } = message
    if (kind !== 'metrics wanted' || id === undefined || openMetrics === undefined) return
    void expose(openMetrics)
      // A worker that cannot read its metrics counts as missing.
      .then(
        ({ body }) => body,
        () => undefined,
      )
      .then((text) => reportToPrimary({ kind: 'metrics', id, worker, text }))
  })
}

/**
 * Returns the function that writes the metrics of all workers, for the first of them. Those that do not answer within a second
 * are missing, and `rowhouse_worker_up` says which.
 *
 * @param own writes the metrics of this process
 * @param workers number of processes
 */
export function metricsOfWorkers(own: Expose, workers: number): Expose {
  let receive: (answer: WorkerMetrics) => void = () => undefined
  process.on('message', (message: WorkerMetrics) => {
    if (message.kind === 'metrics') receive(message)
  })
  const gather = async (openMetrics: boolean): Promise<Exposition> => {
    const id = randomUUID()
    const answers = new Map<number, string | undefined>()
    const complete = new Promise<void>((resolve) => {
      receive = (answer) => {
        if (answer.id === id) answers.set(answer.worker, answer.text)
        if (answers.size === workers - 1) resolve()
      }
    })
    reportToPrimary({ kind: 'metrics wanted', id, openMetrics })
    const [{ type, body }] = await Promise.all([own(openMetrics), isInTime(answerLimit, complete)])
    answers.set(0, body)
    const texts = Array.from({ length: workers }, (_, worker) => answers.get(worker))
    return { type, body: joinedMetrics(texts, openMetrics) }
  }
  let last: Promise<unknown> = Promise.resolve()
  // One at a time: the primary process asks a worker again only after its answer.
  return (openMetrics) => {
    const next = last.then(() => gather(openMetrics))
    last = next.catch(() => undefined)
    return next
  }
}

/**
 * Joins the metrics of workers, in the order of their indexes, with the lines of each metric together, as the formats require.
 *
 * @param texts undefined for a worker that has not answered
 */
export function joinedMetrics(texts: readonly (string | undefined)[], openMetrics: boolean): string {
  const metrics = new Map<string, string[]>()
  for (const text of texts) {
    for (const metric of text?.split(/^(?=# HELP )/m) ?? []) {
      const [help = '', type = '', ...lines] = metric.split('\n').filter((line) => line !== '' && line !== '# EOF')
      const head = `${help}\n${type}`
      const known = metrics.get(head)
      if (known) for (const line of lines) known.push(line)
      else metrics.set(head, lines)
    }
  }
  metrics.set(
    '# HELP rowhouse_worker_up Whether these metrics include those of the worker\n# TYPE rowhouse_worker_up gauge',
    texts.map((text, worker) => `rowhouse_worker_up{worker="${worker}"} ${text === undefined ? 0 : 1}`),
  )
  const written = Array.from(metrics, ([head, lines]) => [head, ...lines].join('\n'))
  return openMetrics ? `${written.join('\n')}\n# EOF\n` : `${written.join('\n\n')}\n`
}
