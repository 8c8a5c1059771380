// Streamed responses: memory, time to the first byte, rows per second.
import { databaseName } from '../dataset.ts'
import { runSql } from '../postgres.ts'
import { statusBytes } from '../process-usage.ts'
import { readFile } from 'node:fs/promises'
import type { MeasureExtension } from './measure.ts'

const mebibyte = 1024 * 1024
const formats = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const

/** Goals: less than 160 MiB at 10,000,000 rows, the first byte within 100 ms. */
export const measureExport: MeasureExtension = async ({ startWith, postgres, options, print }) => {
  const count = options.quick ? 200_000 : 10_000_000
  const uri = postgres.adminUri(databaseName)
  await runSql(
    uri,
    `create or replace view public.bench_export as
       select i as id, 'row ' || i as name, i / 100.0 as price, 'some text of a usual length' as note
       from (select generate_series(1, ${count}) i) g;
     grant select on public.bench_export to anon`,
  )
  const server = await startWith({})
  const address = `${server.url.href.replace(/\/$/, '')}/bench_export`
  // The schema cache has to know the view.
  while ((await fetch(`${address}?limit=1`)).status !== 200) await runSql(uri, `notify pgrst, 'reload schema'`)
  const results: Record<string, number> = {}
  for (const [name, accept] of Object.entries(formats)) {
    for (const coding of ['identity', 'gzip', 'br']) {
      if (coding !== 'identity' && name === 'csv') continue
      const start = performance.now()
      const response = await fetch(address, {
        headers: { Accept: accept, 'Accept-Encoding': coding, Prefer: 'stream=rows' },
      })
      let first = 0
      let lines = 0
      const reader = response.body?.getReader()
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
        if (first === 0) first = performance.now() - start
        for (const byte of part.value) if (byte === 0x0a) lines++
      }
      const seconds = (performance.now() - start) / 1000
      if (lines !== count) throw new Error(`${name}, ${coding}: ${lines} lines instead of ${count}`)
      const peak = statusBytes(await readFile(`/proc/${server.pid}/status`, 'utf8').catch(() => ''), 'VmHWM')
      results[`${name} ${coding} rows/s`] = count / seconds
      results[`${name} ${coding} first ms`] = first
      results[`${name} ${coding} peak MiB`] = peak / mebibyte
      print(
        `export ${name}, ${coding}: ${Math.round(count / seconds)} rows/s, first byte after ${first.toFixed(0)} ms (goal: 100), ` +
          `peak ${(peak / mebibyte).toFixed(0)} MiB (goal: 160)`,
      )
    }
  }
  await server.stop()
  return results
}
