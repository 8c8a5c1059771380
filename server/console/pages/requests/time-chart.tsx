// A chart of a few series over time.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

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

const height = 130

export function TimeChart({ label, unit, series, data, isPaused }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const read = useRef(data)
  read.current = data
  const paused = useRef(isPaused)
  paused.current = isPaused
  useEffect(() => {
    const element = place.current
    if (!element) return undefined
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    let chart = draw(element, unit, series, read.current())
    const again = (): void => {
      chart.destroy()
      chart = draw(element, unit, series, read.current())
    }
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }))
    resized.observe(element)
    scheme.addEventListener('change', again)
    const timer = setInterval(() => {
      if (!paused.current) chart.setData(alignedData(read.current()))
    }, 1000)
    return () => {
      clearInterval(timer)
      scheme.removeEventListener('change', again)
      resized.disconnect()
      chart.destroy()
    }
  }, [])
  return (
    <figure class="time-chart">
      <figcaption>
        {label}
        {series.map(({ label: name, color }) => (
          <span key={name}>
            <i style={{ background: `var(${color})` }} /> {name}
          </span>
        ))}
      </figcaption>
      <div ref={place} role="img" aria-label={label} />
    </figure>
  )
}

const alignedData = (columns: readonly (readonly (number | null)[])[]): uPlot.AlignedData =>
  columns as unknown as uPlot.AlignedData

const timeText = (seconds: number): string => new Date(seconds * 1000).toLocaleTimeString()

function draw(
  element: HTMLElement,
  unit: string,
  series: readonly Series[],
  data: readonly (readonly (number | null)[])[],
): uPlot {
  const styles = getComputedStyle(element)
  const color = (name: string): string => styles.getPropertyValue(name)
  const axis: uPlot.Axis = {
    stroke: color('--faint'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui',
  }
  return new uPlot(
    {
      width: element.clientWidth,
      height,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_chart, _min, max) => [0, Math.max(1, max * 1.1)] } },
      axes: [
        { ...axis, size: 24, space: 90, values: (_chart, splits) => splits.map(timeText) },
        { ...axis, size: 56, values: (_chart, splits) => splits.map((value) => `${value} ${unit}`) },
      ],
      series: [
        {},
        ...series.map(({ label, color: name }) => ({
          label,
          stroke: color(name),
          width: 1.5,
          spanGaps: true,
          points: { show: false },
        })),
      ],
    },
    alignedData(data),
    element,
  )
}
