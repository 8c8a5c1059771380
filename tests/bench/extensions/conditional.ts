// Conditional requests: reads that the client has already (304) against the same reads with their body (200).
import { loadGenerator } from '../load.ts'
import { resource, send, type BenchRequest } from '../request.ts'
import { median } from '../results.ts'
import { chosenWorkloads } from '../workloads.ts'
import type { MeasureExtension } from './measure.ts'

export const measureConditional: MeasureExtension = async ({ startWith, dataset, options, print }) => {
  const server = await startWith({})
  const generator = await loadGenerator(options.generator)
  const [workload] = chosenWorkloads(['filter-100'])
  if (!workload) throw new Error('there is no workload of pages')
  const full = workload.requests(dataset).slice(0, 20)
  const known: BenchRequest[] = []
  for (const request of full) {
    const response = await fetch(resource(server.url, request.path), { headers: request.headers })
    await response.arrayBuffer()
    const tag = response.headers.get('etag')
    if (tag === null) throw new Error(`${request.path} has no entity tag`)
    known.push({ ...request, headers: { ...request.headers, 'If-None-Match': tag } })
  }
  const [first] = known
  const { status } = first ? await send(first, server.url) : { status: undefined }
  if (status !== 304) throw new Error(`a read with the tag of its response got ${status}`)
  const { connections, seconds, rounds } = options
  const rateOf = async (requests: readonly BenchRequest[]): Promise<number> => {
    const played = await generator.play({ url: server.url, requests, connections, seconds })
    if (played.refused + played.broken > 0) throw new Error(`${played.refused + played.broken} requests failed`)
    return played.requests / played.seconds
  }
  const rates: { readonly full: number[]; readonly known: number[] } = { full: [], known: [] }
  for (let round = 0; round < rounds; round++) {
    rates.full.push(await rateOf(full))
    rates.known.push(await rateOf(known))
  }
  const [with200, with304] = [median(rates.full) ?? 0, median(rates.known) ?? 0]
  const ratio = (with304 / with200).toFixed(2)
  print(`100 rows: ${Math.round(with304)} requests/s with 304, ${Math.round(with200)} with 200: ${ratio} times as many`)
  return { with200, with304 }
}
