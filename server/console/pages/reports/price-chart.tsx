// A scatter plot of prices over mileages, and the estimate with its range as a band.
import { useMemo } from 'preact/hooks'
import type uPlot from 'uplot'
import { axis, Plot, type Colors } from '../../plot.tsx'
import type { PricedVehicle, Report, Status } from './reports.ts'

const statuses: readonly (readonly [status: Status, color: string])[] = [
  ['approved', '--good'],
  ['pending', '--warning'],
  ['rejected', '--bad'],
]

type ChartProps = { readonly reports: readonly Report[]; readonly curve: readonly PricedVehicle[] }

type Column = readonly (number | null)[]

/** All columns have one value for each report and each point of the curve, in the order of mileage. */
function columnsOf({ reports, curve }: ChartProps): readonly Column[] {
  const points = [
    ...reports.map((report) => ({ mileage: report.mileage, report, priced: undefined })),
    ...curve.map((priced) => ({ mileage: priced.mileage, report: undefined, priced })),
  ].sort((a, b) => a.mileage - b.mileage)
  const ofCurve = (name: 'low' | 'estimate' | 'high'): Column =>
    points.map(({ priced }) => priced?.valuation[name] ?? null)
  return [
    points.map(({ mileage }) => mileage),
    ...statuses.map(([status]) => points.map(({ report }) => (report?.status === status ? report.price : null))),
    ofCurve('low'),
    ofCurve('estimate'),
    ofCurve('high'),
    // The vehicle itself is the first of the curve.
    points.map(({ priced }) => (priced !== undefined && priced === curve[0] ? priced.valuation.estimate : null)),
  ]
}

/** Positions among the columns. */
const [low, high] = [statuses.length + 1, statuses.length + 3]

function optionsOf(colors: Colors): Omit<uPlot.Options, 'width' | 'height'> {
  const noLine = { paths: () => null }
  return {
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: (_chart, _min, max) => [0, Math.max(1, max * 1.05)] } },
    axes: [
      axis(colors, {
        size: 30,
        label: 'km',
        labelSize: 18,
        labelGap: 0,
        values: (_chart, splits) => splits.map(compactText),
      }),
      axis(colors, { size: 60, values: (_chart, splits) => splits.map(compactText) }),
    ],
    bands: [{ series: [high, low], fill: `${colors('--link')}22` }],
    series: [
      {},
      ...statuses.map(([label, color]) => ({
        label,
        ...noLine,
        stroke: colors(color),
        points: { show: true, size: 7, fill: colors(color) },
      })),
      { label: 'low', stroke: colors('--link'), width: 1, dash: [4, 4], spanGaps: true, points: { show: false } },
      { label: 'estimate', stroke: colors('--link'), width: 2, spanGaps: true, points: { show: false } },
      { label: 'high', stroke: colors('--link'), width: 1, dash: [4, 4], spanGaps: true, points: { show: false } },
      {
        label: 'vehicle',
        ...noLine,
        stroke: colors('--link'),
        points: { show: true, size: 14, width: 3, fill: colors('--ground') },
      },
    ],
  }
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })
const compactText = (value: number): string => compact.format(value)

export function PriceChart({ reports, curve }: ChartProps) {
  const data = useMemo(() => columnsOf({ reports, curve }) as unknown as uPlot.AlignedData, [reports, curve])
  const shown = statuses.filter(([status]) => reports.some((report) => report.status === status))
  return (
    <figure class="prices">
      <figcaption>
        Price over mileage
        {shown.map(([status, color]) => (
          <span key={status}>
            <i style={{ background: `var(${color})` }} /> {status}
          </span>
        ))}
        <span>
          <i style={{ background: 'var(--link)' }} /> estimate, from low to high
        </span>
      </figcaption>
      <Plot
        label={`Prices of ${reports.length} reports over their mileages`}
        data={data}
        options={optionsOf}
        height={360}
      />
    </figure>
  )
}
