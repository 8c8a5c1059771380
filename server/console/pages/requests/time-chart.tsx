// A chart of a few series over time.
import { useMemo } from 'preact/hooks'
import type uPlot from 'uplot'
import { axis, Plot, type Colors } from '../../plot.tsx'
import { timeText } from '../../values.tsx'

export type Series = {
  readonly label: string
  /** A variable of console.css. */
  readonly color: string
}

type TimeChartProps = {
  readonly label: string
  readonly unit: string
  readonly series: readonly Series[]
  /** Times in seconds since 1970, then a column for each series. Called once a second. */
  readonly data: () => readonly (readonly (number | null)[])[]
  readonly isPaused: boolean
}

export const TimeChart = ({ label, unit, series, data, isPaused }: TimeChartProps) => (
  <figure class="time-chart">
    <figcaption>
      {label}
      {series.map(({ label: name, color }) => (
        <span key={name}>
          <i style={{ background: `var(${color})` }} /> {name}
        </span>
      ))}
    </figcaption>
    <Plot
      label={label}
      height={130}
      data={useMemo(() => alignedData(data()), [])}
      live={() => (isPaused ? undefined : alignedData(data()))}
      options={optionsOf(unit, series)}
    />
  </figure>
)

const alignedData = (columns: readonly (readonly (number | null)[])[]): uPlot.AlignedData =>
  columns as unknown as uPlot.AlignedData

/** Values without a neighbour, which a line does not show. */
const lonely: uPlot.Series.Points.Filter = (chart, series) => {
  const values = chart.data[series] ?? []
  const isShown = (index: number): boolean => typeof values[index] === 'number'
  return [...values.keys()].filter((index) => isShown(index) && !isShown(index - 1) && !isShown(index + 1))
}

const optionsOf =
  (unit: string, series: readonly Series[]) =>
  (colors: Colors): Omit<uPlot.Options, 'width' | 'height'> => ({
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_chart, _min, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      axis(colors, {
        size: 24,
        space: 70,
        values: (_chart, splits) => splits.map((seconds) => timeText(seconds * 1000)),
      }),
      axis(colors, { size: 56, values: (_chart, splits) => splits.map((value) => `${value} ${unit}`) }),
    ],
    series: [
      {},
      ...series.map(({ label, color }) => ({
        label,
        stroke: colors(color),
        width: 1.5,
        spanGaps: true,
        points: { show: true, size: 4, filter: lonely },
      })),
    ],
  })
