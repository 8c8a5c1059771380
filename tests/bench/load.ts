// Load generators: they play requests over a number of connections for a time, and tell what came back.
import { hasWrk, playWithWrk } from './wrk.ts'
import { playWithAutocannon } from './cannon.ts'
import type { BenchRequest } from './request.ts'

export type Load = {
  /** Address of the server with its mount path. */
  readonly url: URL
  /** Played in turn, again and again. */
  readonly requests: readonly BenchRequest[]
  readonly connections: number
  /** Whole seconds. */
  readonly seconds: number
}

export type Played = {
  readonly requests: number
  readonly seconds: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Answers with a status of 400 and above. */
  readonly refused: number
  /** Connections refused or broken, and requests without an answer in time. */
  readonly broken: number
}

export type LoadGenerator = { readonly name: 'wrk' | 'autocannon'; readonly play: (load: Load) => Promise<Played> }

/** wrk where it is installed: it costs the machine the least. */
export async function loadGenerator(wanted: string | undefined): Promise<LoadGenerator> {
  const useWrk = wanted === undefined ? await hasWrk() : wanted === 'wrk'
  return useWrk ? { name: 'wrk', play: playWithWrk } : { name: 'autocannon', play: playWithAutocannon }
}
