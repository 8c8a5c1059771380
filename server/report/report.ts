// Vehicle reports as the database keeps them.
import { Failure } from '../accounts/envelope.ts'
import { sqlState } from '../database/database-error.ts'
import type { InTransaction } from '../database/transaction.ts'
import type { Identity } from '../identity/identity.ts'

/** `schemas/create-report-dto.json`. */
export type CreateReportDto = {
  readonly manufacturer: string
  readonly model: string
  readonly year: number
  readonly mileage: number
  readonly price: number
  readonly lat: number
  readonly lng: number
}

/** The row as JSON, so that it has numbers where the API has numbers. The owner is the caller: see the column's default. */
const insert = `
  insert into public.reports as report (manufacturer, model, year, mileage, price, lat, lng)
  values ($1, $2, $3, $4, $5, $6, $7)
  returning to_jsonb(report) as report`

/**
 * Stores a report of the caller's, and gives the row as stored.
 *
 * @throws Failure 409 when the caller has deleted their profile, 403 when the policies or grants say no
 */
export async function createReport(
  inTransaction: InTransaction,
  caller: Identity,
  dto: CreateReportDto,
): Promise<unknown> {
  const { manufacturer, model, year, mileage, price, lat, lng } = dto
  try {
    return await inTransaction(caller, async (query) => {
      const [row] = await query(insert, [manufacturer, model, year, mileage, price, lat, lng])
      return row?.report
    })
  } catch (error) {
    switch (sqlState(error)) {
      case '23503':
        throw new Failure(409, 'Your profile was deleted: sign in again to get a new one', { cause: error })
      case '23514':
        throw new Failure(400, 'The database does not accept these values', { cause: error })
      case '42501':
        throw new Failure(403, 'You may not do this', { cause: error })
      default:
        throw error
    }
  }
}
