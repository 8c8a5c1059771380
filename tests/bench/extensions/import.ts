// Imports of newline-delimited JSON and CSV against the same rows as JSON arrays.
import { readFile } from 'node:fs/promises'
import { databaseName } from '../dataset.ts'
import { runSql } from '../postgres.ts'
import type { ExtensionContext, MeasureExtension } from './measure.ts'

const mebibyte = 1024 * 1024
/** Rows of a JSON array, which must stay below the limit of the body. */
const batch = 20_000

const row = (id: number) => ({
  id,
  name: `row ${id}`,
  price: id / 100,
  note: 'some text of a usual length, with "quotes"',
})
type Row = ReturnType<typeof row>

const csvLine = ({ id, name, price, note }: Row): string => `${id},${name},${price},"${note.replaceAll('"', '""')}"\n`

/** The rows from `first` on as a stream, in pieces of some thousand rows. */
function rowStream(rows: number, header: string, write: (row: Row) => string): ReadableStream<Uint8Array> {
  let next = 1
  return new ReadableStream({
    pull(controller) {
      if (next > rows) return controller.close()
      let text = next === 1 ? header : ''
      for (const end = Math.min(next + 2000, rows + 1); next < end; next++) text += write(row(next))
      controller.enqueue(Buffer.from(text))
    },
  })
}

/** Peak memory of a process since it began, in bytes; undefined where the system does not say. */
async function peakMemory(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kibibytes = /^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
}

/** Goal: an import is at least as fast as JSON arrays, and needs no more memory for more rows. */
export const measureImport: MeasureExtension = async ({ startWith, postgres, options, print }: ExtensionContext) => {
  const uri = postgres.adminUri(databaseName)
  const rows = options.quick ? 100_000 : 1_000_000
  await runSql(
    uri,
    `drop table if exists public.bench_import;
     create table public.bench_import (id int primary key, name text, price numeric, note text);
     grant all on public.bench_import to anon`,
  )
  const server = await startWith({ REST_IMPORT_LIMIT: '10gb', SERVER_REQUEST_TIMEOUT: '3600' })
  const send = async (type: string, body: string | ReadableStream<Uint8Array>): Promise<void> => {
    const init = { method: 'POST', headers: { 'Content-Type': type }, body, duplex: 'half' as const }
    const response = await fetch(`${server.url.href.replace(/\/$/, '')}/bench_import`, init)
    if (response.status !== 201) throw new Error(`${type}: ${response.status} ${await response.text()}`)
  }
  const measure = async (name: string, run: () => Promise<void>): Promise<number> => {
    await runSql(uri, 'truncate public.bench_import')
    const start = performance.now()
    await run()
    const perSecond = Math.round(rows / ((performance.now() - start) / 1000))
    const [found] = await runSql<{ count: number }>(uri, 'select count(*)::int from public.bench_import')
    if (found?.count !== rows) throw new Error(`${name}: ${found?.count} rows instead of ${rows}`)
    const peak = await peakMemory(server.pid)
    const memory = peak === undefined ? '' : `, peak memory of the server so far ${Math.round(peak / mebibyte)} MiB`
    print(`import: ${name}: ${perSecond.toLocaleString('en')} rows/s${memory}`)
    return perSecond
  }
  try {
    const ndjson = await measure('newline-delimited JSON, one request', () =>
      send(
        'application/x-ndjson',
        rowStream(rows, '', (it) => `${JSON.stringify(it)}\n`),
      ),
    )
    const csv = await measure('CSV, one request', () =>
      send('text/csv', rowStream(rows, 'id,name,price,note\n', csvLine)),
    )
    const peak = (await peakMemory(server.pid)) ?? 0
    const json = await measure(`JSON arrays of ${batch} rows`, async () => {
      for (let first = 1; first <= rows; first += batch) {
        const length = Math.min(batch, rows - first + 1)
        await send('application/json', JSON.stringify(Array.from({ length }, (_, index) => row(first + index))))
      }
    })
    print(`import: ${(ndjson / json).toFixed(2)} times the rows per second of JSON arrays (goal: at least 1)`)
    return { ndjson, csv, json, peakMebibytes: Math.round(peak / mebibyte) }
  } finally {
    await runSql(uri, 'drop table public.bench_import')
  }
}
