// A chart by uPlot, in the colours of the page.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

/** The value of a variable of console.css. */
export type Colors = (variable: string) => string

export type PlotProps = {
  /** What the chart shows, for people who do not see it. */
  readonly label: string
  readonly data: uPlot.AlignedData
  readonly options: (colors: Colors) => Omit<uPlot.Options, 'width' | 'height'>
  readonly height?: number
  /** Asked once a second for newer data; undefined leaves the chart as it is. */
  readonly live?: () => uPlot.AlignedData | undefined
}

/** Draws again when the data, the width or the colour scheme changes. */
export function Plot({ label, data, options, height = 320, live }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const newer = useRef(live)
  newer.current = live
  useEffect(() => {
    const element = place.current
    if (!element) return undefined
    const draw = (): uPlot => {
      const styles = getComputedStyle(element)
      const colors: Colors = (variable) => styles.getPropertyValue(variable)
      return new uPlot({ width: element.clientWidth, height, ...options(colors) }, newer.current?.() ?? data, element)
    }
    let chart = draw()
    const again = (): void => {
      chart.destroy()
      chart = draw()
    }
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }))
    resized.observe(element)
    scheme.addEventListener('change', again)
    const timer =
      newer.current &&
      setInterval(() => {
        const current = newer.current?.()
        if (current) chart.setData(current)
      }, 1000)
    return () => {
      clearInterval(timer)
      scheme.removeEventListener('change', again)
      resized.disconnect()
      chart.destroy()
    }
  }, [data, height])
  return <div class="plot" ref={place} role="img" aria-label={label} />
}

/** An axis in the colours of the page. */
export const axis = (colors: Colors, rest: uPlot.Axis = {}): uPlot.Axis => ({
  stroke: colors('--faint'),
  grid: { stroke: colors('--line'), width: 1 },
  ticks: { show: false },
  font: '12px system-ui',
  labelFont: '12px system-ui',
  ...rest,
})
