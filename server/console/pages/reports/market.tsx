// Prices over mileages of one vehicle, with the estimate for one of them.
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Viewer } from '../../api.ts'
import { Empty, Field, Loading, Problem, useLoaded } from '../../parts.tsx'
import { ReadProblem } from '../../read-problem.tsx'
import { go, useRoute } from '../../router.ts'
import { PriceChart } from './price-chart.tsx'
import {
  estimateCurve,
  groupsOf,
  listReports,
  longestList,
  median,
  mileageText,
  priceText,
  type PricedVehicle,
  type Rest,
  type Vehicle,
  type VehicleGroup,
} from './reports.ts'

type MarketProps = { readonly viewer: Viewer; readonly rest: Rest }

export function Market({ viewer, rest }: MarketProps) {
  const { query } = useRoute()
  const { value, error } = useLoaded(() => listReports(viewer, rest), [viewer])
  const groups = useMemo(() => groupsOf(value ?? []), [value])
  const chosen = groups.find(({ key }) => key === query.get('vehicle')) ?? groups[0]
  if (error !== undefined) {
    return <ReadProblem error={error} hint="Users see their own reports, service_role sees all." />
  }
  if (!value) return <Loading />
  if (!chosen) {
    return (
      <Empty title="There are no reports to see">
        <p>
          Users see their own reports, <code>service_role</code> sees all. Apps send them with <code>POST /report</code>
          .
        </p>
      </Empty>
    )
  }
  return (
    <>
      <div class="bar">
        <label>
          Vehicle{' '}
          <select
            value={chosen.key}
            onChange={({ currentTarget }) => go(['reports'], { vehicle: currentTarget.value }, { replace: true })}
          >
            {groups.map(({ key, name, reports }) => (
              <option key={key} value={key}>
                {name} ({reports.length})
              </option>
            ))}
          </select>
        </label>
        {value.length === longestList && <span class="faint">The newest {longestList} reports are shown.</span>}
      </div>
      <VehiclePrices key={chosen.key} group={chosen} viewer={viewer} rest={rest} />
    </>
  )
}

/** Milliseconds without a change after which an estimate is asked for. */
const pause = 250

function VehiclePrices({ group, viewer, rest }: MarketProps & { readonly group: VehicleGroup }) {
  const { reports } = group
  const [vehicle, setVehicle] = useState<Vehicle>(() => typicalVehicle(group))
  const asked = useSettled(vehicle)
  const largest = Math.max(...reports.map(({ mileage }) => mileage), vehicle.mileage, 1000)
  const { value: curve, error } = useLoaded(
    (signal) => estimateCurve(viewer, rest, asked, largest, signal),
    [viewer, asked, largest],
  )
  const numberField = (name: 'year' | 'mileage' | 'lat' | 'lng', label: string, step: string) => (
    <Field label={label}>
      <input
        type="number"
        step={step}
        value={vehicle[name]}
        onInput={({ currentTarget }) => {
          if (currentTarget.value !== '') setVehicle({ ...vehicle, [name]: Number(currentTarget.value) })
        }}
      />
    </Field>
  )
  return (
    <div class="market">
      <section class="card">
        <PriceChart reports={reports} curve={curve ?? []} />
      </section>
      <section class="card">
        <h2>Estimate</h2>
        {numberField('year', 'Year', '1')}
        {numberField('mileage', 'Mileage in km', '1000')}
        <div class="two">
          {numberField('lat', 'Latitude', 'any')}
          {numberField('lng', 'Longitude', 'any')}
        </div>
        <Problem error={error} />
        {error === undefined && <Estimate curve={curve} />}
      </section>
    </div>
  )
}

/** What most of the reports are like. */
function typicalVehicle({ reports }: VehicleGroup): Vehicle {
  const of = (name: 'year' | 'mileage' | 'lat' | 'lng'): number => median(reports.map((report) => report[name]))
  const { manufacturer = '', model = '' } = reports[0] ?? {}
  return {
    manufacturer,
    model,
    year: of('year'),
    mileage: of('mileage'),
    lat: rounded(of('lat')),
    lng: rounded(of('lng')),
  }
}

/** Degrees: some ten metres. */
const rounded = (degrees: number): number => Math.round(degrees * 1e4) / 1e4

function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pause)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

function Estimate({ curve }: { readonly curve: readonly PricedVehicle[] | undefined }) {
  const [first] = curve ?? []
  if (!first) return <Loading />
  const { estimate, low, high, currency, comparables, confidence, method } = first.valuation
  if (estimate === null || low === null || high === null) {
    return (
      <p>
        There is no estimate: {method}. Comparable reports: {comparables}.
      </p>
    )
  }
  return (
    <>
      <p class="figure">{priceText(estimate, currency)}</p>
      <p>
        {priceText(low, currency)} to {priceText(high, currency)} at {mileageText(first.mileage)}
      </p>
      <p class="faint small">
        From {comparables} approved reports of other users; confidence {Math.round(confidence * 100)} %.
      </p>
    </>
  )
}
