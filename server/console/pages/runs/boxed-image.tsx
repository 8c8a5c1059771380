// An image with its boxes, to scale. Without the image, the boxes are drawn on an empty frame of its size.
import { useEffect, useRef, useState } from 'preact/hooks'
import { fetchAs, type Viewer } from '../../api.ts'
import { boxesOf, keptImagePath, type Run } from './runs.ts'

type ImageProps = { readonly run: Run; readonly viewer: Viewer; readonly isLarge?: boolean }

export function BoxedImage({ run, viewer, isLarge = false }: ImageProps) {
  const place = useRef<HTMLElement>(null)
  const isSeen = useSeen(place)
  const { url, fault } = useKeptImage(run.image_uri, viewer, isSeen)
  const { image_width: width = 4, image_height: height = 3 } = run.analysis ?? {}
  const boxes = boxesOf(run)
  const isAbsent = fault !== undefined || keptImagePath(run.image_uri) === undefined
  // Strokes and texts are as large on every image.
  const unit = Math.max(width, height) / (isLarge ? 500 : 250)
  return (
    <figure class="boxed" ref={place}>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${run.result_label}, ${boxes.length} regions`}
        preserveAspectRatio="xMidYMid meet"
      >
        <rect class="ground" width={width} height={height} />
        {url !== undefined && <image href={url} width={width} height={height} />}
        {isAbsent && boxes.length === 0 && (
          <text class="absent" x={width / 2} y={height / 2} font-size={12 * unit}>
            no image
          </text>
        )}
        {boxes.map(({ x1, y1, x2, y2, confidence }, index) => (
          <g key={index}>
            <rect
              class="box"
              x={x1}
              y={y1}
              width={Math.max(0, x2 - x1)}
              height={Math.max(0, y2 - y1)}
              stroke-width={2 * unit}
            />
            {isLarge && (
              <text x={x1 + 4 * unit} y={y1 + 14 * unit} font-size={12 * unit} stroke-width={3 * unit}>
                {Math.round(confidence * 100)} %
              </text>
            )}
          </g>
        ))}
      </svg>
      {isLarge && isAbsent && (
        <figcaption class="faint small">
          {fault === undefined
            ? 'The image is not kept here: the boxes are drawn on a frame of its size.'
            : `The image is not shown: ${fault}`}
        </figcaption>
      )}
    </figure>
  )
}

/** Whether an element has been on the screen. */
function useSeen(place: { readonly current: HTMLElement | null }): boolean {
  const [isSeen, setSeen] = useState(false)
  useEffect(() => {
    if (!place.current) return undefined
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true)
    })
    observer.observe(place.current)
    return () => observer.disconnect()
  }, [])
  return isSeen
}

type Loaded = { readonly url?: string; readonly fault?: string }

/** The image of this server with a URI, loaded as the viewer. */
function useKeptImage(uri: string, viewer: Viewer, isSeen: boolean): Loaded {
  const [loaded, setLoaded] = useState<Loaded>({})
  const path = keptImagePath(uri)
  useEffect(() => {
    if (path === undefined || !isSeen) return undefined
    const ending = new AbortController()
    let made: string | undefined
    fetchAs(viewer, path, { signal: ending.signal })
      .then((response) => response.blob())
      .then(
        (blob) => {
          if (ending.signal.aborted) return
          made = URL.createObjectURL(blob)
          setLoaded({ url: made })
        },
        (error: unknown) => {
          if (!ending.signal.aborted) setLoaded({ fault: error instanceof Error ? error.message : String(error) })
        },
      )
    return () => {
      ending.abort()
      if (made !== undefined) URL.revokeObjectURL(made)
    }
  }, [path, viewer, isSeen])
  return loaded
}
