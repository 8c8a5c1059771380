// Keyset pages against offset: the first page and page 10,000 of 1,000,000 rows, in the order of a column with equal
// values and nulls.
import { databaseName, userToken } from '../dataset.ts'
import { runSql } from '../postgres.ts'
import { median } from '../results.ts'
import { resource } from '../request.ts'
import type { MeasureExtension } from './measure.ts'

const rows = 1_000_000
const pageSize = 100
/** The way to page 10,000 is read in larger pages. */
const largePage = 10_000
const samples = 300
/** Requests for each page before the samples: they prepare statements and connections. */
const warmUp = 100
const offsetSamples = 10
/** Maximum time of page 10,000 as a multiple of that of the first page. */
const goal = 1.5

const table = 'keyset_pages'
const path = `/${table}?select=id,rank,note&order=rank.desc`

/** The link to the next page, with another size. */
function nextOf(link: string | null, limit: number): string {
  const target = /<([^>]*)>; rel="next"/.exec(link ?? '')?.[1]
  if (target === undefined) throw new Error('a page has no next page')
  return `/${table}${target.replace(/limit=\d+/, `limit=${limit}`)}`
}

export const measureKeyset: MeasureExtension = async ({ startWith, postgres, print }) => {
  const uri = postgres.adminUri(databaseName)
  await runSql(
    uri,
    `drop table if exists public.${table};
     create table public.${table} (id bigint primary key, rank int, note text);
     insert into public.${table}
       select n, nullif((n::bigint * 7919 % 50000)::int, 0), 'note ' || n from generate_series(1, ${rows}) n;
     create index on public.${table} (rank, id);
     grant select on public.${table} to authenticated`,
  )
  await runSql(uri, `vacuum analyze public.${table}`)
  try {
    const server = await startWith({})
    const headers = { Authorization: `Bearer ${userToken(1)}` }
    const keyset = { ...headers, Prefer: 'pagination=keyset' }
    const get = async (target: string, sent: Readonly<Record<string, string>> = headers) => {
      const start = performance.now()
      const response = await fetch(resource(server.url, target), { headers: sent })
      await response.arrayBuffer()
      const milliseconds = performance.now() - start
      if (response.status !== 200) throw new Error(`${target}: ${response.status}`)
      return { milliseconds, link: response.headers.get('link') }
    }
    let target = `${path}&limit=${largePage}`
    let read = 0
    let sent: Readonly<Record<string, string>> = keyset
    for (; read < rows - 2 * largePage; read += largePage) {
      target = nextOf((await get(target, sent)).link, largePage)
      sent = headers
    }
    for (target = target.replace(/limit=\d+/, `limit=${pageSize}`); read < rows - 2 * pageSize; read += pageSize) {
      target = nextOf((await get(target)).link, pageSize)
    }
    const firstPath = `${path}&limit=${pageSize}`
    const found: { readonly first: number[]; readonly deep: number[]; readonly offset: number[] } = {
      first: [],
      deep: [],
      offset: [],
    }
    for (let sample = -warmUp; sample < samples; sample++) {
      const [one, other] = [await get(firstPath, keyset), await get(target)]
      if (sample < 0) continue
      found.first.push(one.milliseconds)
      found.deep.push(other.milliseconds)
    }
    for (let sample = 0; sample < offsetSamples; sample++) {
      found.offset.push((await get(`${firstPath}&offset=${read}`)).milliseconds)
    }
    const [first = NaN, deep = NaN, offset = NaN] = [found.first, found.deep, found.offset].map(median)
    const ratio = deep / first
    print(
      `keyset  page 1: ${first.toFixed(2)} ms, page ${read / pageSize + 1}: ${deep.toFixed(2)} ms (${ratio.toFixed(2)} times, goal: ${goal}), ` +
        `by offset: ${offset.toFixed(2)} ms`,
    )
    return { first, deep, ratio, offset }
  } finally {
    await runSql(uri, `drop table public.${table}`)
  }
}
