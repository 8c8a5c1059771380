// Metrics of all processes of `server-workers` at the admin server of the first one. Each series has the label `worker`, and
// nothing is added up: a sum would fall when a worker does not answer or is replaced, which `rate()` takes for a restart.
import type { Exposition } from './operations/exposition.ts'
import type { WorkerQuestions } from './worker-questions.ts'

type Expose = (openMetrics: boolean) => Promise<Exposition>

const openMetricsFormat = 'OpenMetrics'

/** Answers the first worker, which asks for the metrics of this one. */
export const answerMetrics = (questions: WorkerQuestions, expose: Expose): void =>
  questions.answer('metrics', async (format) => (await expose(format === openMetricsFormat)).body)

/**
 * Returns the function that writes the metrics of all workers, for the first of them. Those that do not answer within a second
 * are missing, and `rowhouse_worker_up` says which.
 *
 * @param own writes the metrics of this process
 */
export function metricsOfWorkers(questions: WorkerQuestions, own: Expose): Expose {
  return async (openMetrics) => {
    const mine = own(openMetrics)
    const [{ type }, texts] = await Promise.all([
      mine,
      questions.ask('metrics', openMetrics ? openMetricsFormat : 'Prometheus', async () => (await mine).body),
    ])
    return { type, body: joinedMetrics(texts, openMetrics) }
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
