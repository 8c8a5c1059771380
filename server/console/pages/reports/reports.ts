// Reports and valuations by the REST API, as the chosen viewer.
import { jsonAs, type Viewer } from '../../api.ts'

export type Status = 'pending' | 'approved' | 'rejected'

export type Report = {
  readonly id: string
  readonly user_id: string
  readonly manufacturer: string
  readonly model: string
  readonly year: number
  readonly mileage: number
  readonly price: number
  readonly lat: number
  readonly lng: number
  readonly created_at: string
  readonly status: Status
}

export type Valuation = {
  /** Null with too few comparable reports. */
  readonly estimate: number | null
  readonly low: number | null
  readonly high: number | null
  readonly currency: string
  readonly comparables: number
  readonly confidence: number
  readonly method: string
}

export type Vehicle = Pick<Report, 'manufacturer' | 'model' | 'year' | 'mileage' | 'lat' | 'lng'>

/** The largest number of reports on the chart. */
export const longestList = 2000

/** @param rest path of the REST API, for its resources */
export const listReports = (viewer: Viewer, rest: Rest): Promise<readonly Report[]> =>
  jsonAs(viewer, rest(`reports?order=created_at.desc&limit=${longestList}`))

/** The path of a resource of the REST API. */
export type Rest = (resource: string) => string

export type PendingReport = Report & { readonly valuation: Valuation }

/** The largest number of reports in the queue. */
export const longestQueue = 100

/** Oldest first. */
export const listPending = (viewer: Viewer, rest: Rest): Promise<readonly PendingReport[]> =>
  jsonAs(viewer, rest('rpc/pending_reports?select=*,valuation'), {
    method: 'POST',
    body: { at_most: longestQueue },
    isRead: true,
  })

export const reviewReport = (viewer: Viewer, rest: Rest, id: string, approved: boolean): Promise<unknown> =>
  jsonAs(viewer, rest('rpc/review_report'), { method: 'POST', body: { id, approved } })

const estimate = (viewer: Viewer, rest: Rest, vehicle: Vehicle, signal: AbortSignal): Promise<Valuation> =>
  jsonAs(viewer, rest('rpc/estimate_report'), { method: 'POST', body: vehicle, signal, isRead: true })

export type PricedVehicle = { readonly mileage: number; readonly valuation: Valuation }

/** The vehicle itself first, then the same with other mileages, for a curve. */
export function estimateCurve(
  viewer: Viewer,
  rest: Rest,
  vehicle: Vehicle,
  largestMileage: number,
  signal: AbortSignal,
): Promise<readonly PricedVehicle[]> {
  const steps = 8
  const others = Array.from({ length: steps + 1 }, (_, index) => Math.round((largestMileage * index) / steps))
  return Promise.all(
    [vehicle.mileage, ...others].map(async (mileage) => ({
      mileage,
      valuation: await estimate(viewer, rest, { ...vehicle, mileage }, signal),
    })),
  )
}

/** Names are compared as the server does: without regard to case and white space. */
const vehicleKey = ({ manufacturer, model }: Pick<Report, 'manufacturer' | 'model'>): string =>
  [manufacturer, model].map((name) => name.normalize('NFKC').replace(/\s/g, '').toLowerCase()).join(' ')

export type VehicleGroup = { readonly key: string; readonly name: string; readonly reports: readonly Report[] }

/** Reports by vehicle, those with the most reports first. */
export function groupsOf(reports: readonly Report[]): readonly VehicleGroup[] {
  const groups = new Map<string, Report[]>()
  for (const report of reports) {
    const key = vehicleKey(report)
    const group = groups.get(key)
    if (group) group.push(report)
    else groups.set(key, [report])
  }
  return [...groups]
    .map(([key, of]) => ({ key, name: of[0] ? `${of[0].manufacturer} ${of[0].model}` : key, reports: of }))
    .sort((a, b) => b.reports.length - a.reports.length)
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const formats = new Map<string, Intl.NumberFormat>()

export function priceText(price: number, currency = 'EUR'): string {
  const format =
    formats.get(currency) ?? new Intl.NumberFormat('en', { style: 'currency', currency, maximumFractionDigits: 0 })
  formats.set(currency, format)
  return format.format(price)
}

export const mileageText = (mileage: number): string => `${mileage.toLocaleString('en')} km`
