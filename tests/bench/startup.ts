// Measures the time from the start of a server to the first row that it serves.
import { prepareManyTables } from './dataset.ts'
import type { Postgres } from './postgres.ts'
import { median } from './results.ts'
import type { StartServer } from './servers.ts'

/** Seconds, the median of several starts on a database of 100 tables, after a warm-up. */
export async function startSeconds(
  starts: readonly StartServer[],
  postgres: Postgres,
  own: boolean,
  rounds: number,
): Promise<(number | undefined)[]> {
  const uri = postgres.authenticatorUri(await prepareManyTables(postgres, own))
  const seconds: number[][] = starts.map(() => [])
  for (let round = 0; round <= rounds; round++) {
    for (const [index, start] of starts.entries()) {
      const server = await start(uri)
      await server.stop()
      if (round > 0) seconds[index]?.push(server.readyAfter / 1000)
    }
  }
  return seconds.map((values) => median(values))
}
