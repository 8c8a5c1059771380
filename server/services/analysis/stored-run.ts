// Stores predictions as classification runs of the caller, subject to row-level security.
import { createHash } from 'node:crypto'
import { isNotMigrated, sqlState } from '../../postgres/database-error.ts'
import type { Database } from '../../postgres/database.ts'
import type { Identity } from '../../identity/identity.ts'
import type { TableBodies } from '../../rest/validation.ts'
import type { ImageKeeper, KeptImage } from './image-keeper.ts'
import type { PredictionResponse } from './prediction.ts'
import { Problem, problems } from './problem.ts'

export type RunToStore = {
  readonly prediction: PredictionResponse
  /** Source of the image: `camera`, `gallery`, `file` … */
  readonly imageSource: string
  /** Address of the image that the caller sent; never fetched. */
  readonly imageUri: string
  /** The image, whose object is created together with the run. */
  readonly kept?: KeptImage
}

/** Stores runs of one caller, all or none. Returns their ids in the same order. */
export type StoreRuns = (caller: Identity, runs: readonly RunToStore[]) => Promise<readonly string[]>

/** A URI for an image without an address, based on its hash. https://www.rfc-editor.org/rfc/rfc6920 */
export const contentUri = (image: Uint8Array): string =>
  `ni:///sha-256;${createHash('sha256').update(image).digest('base64url')}`

const columns = [
  ...['image_uri', 'image_source', 'result_label', 'confidence', 'is_positive', 'recommendation'],
  ...['model_version', 'analysis'],
] as const

/** Leaves out the owner, which defaults to the caller. */
const insert = `
  insert into public.classification_runs (${columns.join(', ')})
  values (${columns.map((_, index) => `$${index + 1}`).join(', ')})
  returning id`

/**
 * @param validator the validator of the table, which the REST API also uses
 * @throws Problem 422 when the source or the address is invalid; 403 when the caller may not store runs; 503 without a
 *   database
 */
export function runStore(
  database: Pick<Database, 'transaction'>,
  validator: TableBodies | undefined,
  keeper: ImageKeeper | undefined,
): StoreRuns {
  return async (caller, runs) => {
    const rows = runs.map(rowOf)
    for (const { pointer, message } of validator?.validateInsert(rows) ?? []) {
      const [, index = '', field = ''] = pointer.split('/')
      throw problems.invalid('value_error', ['body', field === '' ? index : field], message)
    }
    try {
      return await database.transaction(caller, async (query) => {
        const ids: string[] = []
        for (const row of rows) {
          const [stored] = await query(
            insert,
            columns.map((column) => row[column]),
          )
          ids.push(String(stored?.id))
        }
        for (const { kept } of runs) if (kept) await keeper?.insert(query, kept)
        return ids
      })
    } catch (error) {
      throw storingProblem(error) ?? error
    }
  }
}

function rowOf({ prediction, imageSource, imageUri }: RunToStore): Readonly<Record<string, unknown>> {
  const { boxes, coverage_percent, risk_level, classification, detection_confidence } = prediction
  return {
    image_uri: imageUri,
    image_source: imageSource,
    result_label: prediction.result_label,
    // Clients store whole percentages.
    confidence: Math.round(100 * prediction.classification_confidence),
    is_positive: classification === 'water_hyacinth',
    recommendation: prediction.recommendation,
    model_version: prediction.model_version,
    analysis: {
      classification,
      boxes,
      coverage_percent,
      risk_level,
      detection_confidence,
      method: prediction.method,
      image_width: prediction.image_width,
      image_height: prediction.image_height,
    },
  }
}

/** insufficient_privilege; not_null_violation and foreign_key_violation: the caller is not a user with a profile. */
const forbidden = new Set(['42501', '23502', '23503'])

function storingProblem(error: unknown): Problem | undefined {
  if (forbidden.has(sqlState(error) ?? '')) return new Problem(403, 'These credentials may not store runs.', {}, error)
  if (isNotMigrated(error)) return problems.unavailable('The database is not set up for storing runs.')
  return undefined
}
