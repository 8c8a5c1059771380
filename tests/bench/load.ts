// Load generators: they send requests over a number of connections for some time, and report the responses.
import { hasWrk, playWithWrk } from './wrk.ts'
import { playWithAutocannon } from './cannon.ts'
import type { BenchRequest } from './request.ts'

export type Load = {
  /** Address of the server with its mount path. */
  readonly url: URL
  /** Sent in turn, repeatedly. */
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
  /** Responses with a status of 400 or above. */
  readonly refused: number
  /** Connections refused or broken, and requests that timed out. */
  readonly broken: number
}

export type LoadGenerator = { readonly name: 'wrk' | 'autocannon'; readonly play: (load: Load) => Promise<Played> }

/** wrk if it is installed, because it uses the least processor time. */
export async function loadGenerator(wanted: string | undefined): Promise<LoadGenerator> {
  const useWrk = wanted === undefined ? await hasWrk() : wanted === 'wrk'
  return useWrk ? { name: 'wrk', play: playWithWrk } : { name: 'autocannon', play: playWithAutocannon }
}
