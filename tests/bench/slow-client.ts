// Measures the server's memory while a client requests all rows and reads slowly.
import { get } from 'node:http'
import { serviceToken } from './dataset.ts'
import { usageOf } from './process-usage.ts'
import { resource } from './request.ts'
import type { Server } from './servers.ts'

export type SlowReading = {
  readonly accept: string
  readonly status: number
  readonly megabytes: number
  readonly seconds: number
  readonly peakMebibytes: number
}

const targetMebibytes = 200

/** Reads all runs, about 200 megabytes as JSON, at a steady rate. */
export async function readSlowly(
  server: Server,
  megabytesPerSecond: number,
  print: (line: string) => void,
): Promise<SlowReading[]> {
  const readings: SlowReading[] = []
  for (const accept of ['application/json', 'text/csv']) {
    const reading = await readOnce(server, accept, megabytesPerSecond)
    readings.push(reading)
    const { status, megabytes, seconds, peakMebibytes } = reading
    const verdict = status === 200 && peakMebibytes <= targetMebibytes ? 'reached' : 'MISSED'
    print(
      `${accept}: ${status}, ${megabytes.toFixed(1)} MB in ${seconds.toFixed(1)} s, ` +
        `peak RSS ${peakMebibytes.toFixed(0)} MiB (at most ${targetMebibytes}: ${verdict})`,
    )
  }
  return readings
}

async function readOnce(server: Server, accept: string, megabytesPerSecond: number): Promise<SlowReading> {
  let peakBytes = 0
  let sampling = true
  const sampler = (async () => {
    while (sampling) {
      peakBytes = Math.max(peakBytes, (await usageOf(server.pid))?.residentBytes ?? 0)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  const began = performance.now()
  const path = '/classification_runs?select=id,user_id,image_uri,result_label,confidence,is_positive,created_at'
  try {
    const { status, bytes } = await throttled(resource(server.url, path), accept, megabytesPerSecond)
    const seconds = (performance.now() - began) / 1000
    sampling = false
    await sampler
    return { accept, status, megabytes: bytes / 1_000_000, seconds, peakMebibytes: peakBytes / 2 ** 20 }
  } finally {
    sampling = false
  }
}

function throttled(
  url: string,
  accept: string,
  megabytesPerSecond: number,
): Promise<{ status: number; bytes: number }> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${serviceToken()}`, Accept: accept }
    get(url, { headers }, (response) => {
      let bytes = 0
      const began = performance.now()
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        const ahead = bytes / (megabytesPerSecond * 1000) - (performance.now() - began)
        if (ahead < 5) return
        response.pause()
        setTimeout(() => response.resume(), ahead)
      })
      response.once('end', () => resolve({ status: response.statusCode ?? 0, bytes }))
      response.once('error', reject)
    }).once('error', reject)
  })
}
