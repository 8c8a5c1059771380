// The coverage of runs over time.
import { useMemo } from 'preact/hooks'
import type uPlot from 'uplot'
import { axis, Plot, type Colors } from '../../plot.tsx'
import { coverageOf, type Run } from './runs.ts'

const optionsOf = (colors: Colors): Omit<uPlot.Options, 'width' | 'height'> => ({
  legend: { show: false },
  cursor: { show: false },
  scales: { y: { range: [0, 100] } },
  axes: [axis(colors), axis(colors, { size: 48, values: (_chart, splits) => splits.map((value) => `${value} %`) })],
  series: [
    {},
    {
      label: 'coverage',
      stroke: colors('--link'),
      fill: `${colors('--link')}1a`,
      width: 1.5,
      points: { show: true, size: 6, fill: colors('--link') },
    },
  ],
})

export function CoverageChart({ runs }: { readonly runs: readonly Run[] }) {
  const data = useMemo(() => {
    const points = runs
      .flatMap((run) => {
        const coverage = coverageOf(run)
        return coverage === undefined ? [] : [[Date.parse(run.created_at) / 1000, coverage] as const]
      })
      .sort(([a], [b]) => a - b)
    return [points.map(([at]) => at), points.map(([, coverage]) => coverage)] as uPlot.AlignedData
  }, [runs])
  if (data[0].length < 2) return null
  return (
    <section class="card">
      <h2>Coverage over time</h2>
      <Plot label={`Coverage of ${data[0].length} runs over time`} data={data} options={optionsOf} height={180} />
    </section>
  )
}
