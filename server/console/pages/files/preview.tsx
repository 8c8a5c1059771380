// What a file looks like, without ever running what is in it: pages and SVG are shown as images or as their text.
import { useEffect, useState } from 'preact/hooks'
import type { Viewer } from '../../api.ts'
import { Dialog, Loading, Problem, useLoaded } from '../../parts.tsx'
import { bytesText } from '../../values.tsx'
import { Download } from './download.tsx'
import { readFile, signedLink } from './storage.ts'

type PreviewProps = {
  readonly viewer: Viewer
  readonly bucket: string
  readonly name: string
  readonly type: string
  readonly size: number
  readonly onClose: () => void
}

/** Bytes of the largest file that is shown. */
const largest = 50_000_000

/** Bytes of a text that are shown. */
const shownText = 200_000

type Kind = 'image' | 'video' | 'audio' | 'text' | 'document' | 'none'

/** Programs in an SVG do not run in an image. https://svgwg.org/specs/integration/#secure-static-mode */
export function kindOf(type: string, size: number): Kind {
  const [essence = ''] = type.toLowerCase().split(';', 1)
  if (/^text\/|[/+](?:json|xml|javascript|yaml|sql)$/.test(essence) && essence !== 'image/svg+xml') return 'text'
  if (essence === 'application/pdf') return 'document'
  const [, kind] = /^(image|video|audio)\//.exec(essence) ?? []
  return kind === undefined || size > largest ? 'none' : (kind as 'image' | 'video' | 'audio')
}

export function PreviewDialog({ viewer, bucket, name, type, size, onClose }: PreviewProps) {
  const kind = kindOf(type, size)
  const file = { viewer, bucket, name }
  return (
    <Dialog title={name.slice(name.lastIndexOf('/') + 1)} onClose={onClose} isWide>
      <p class="bar">
        <span class="faint">
          {type}, {bytesText(size)}
        </span>
        <Download {...file} />
      </p>
      {kind === 'none' && <p>There is no preview of such files.</p>}
      {kind === 'text' && <Text {...file} size={size} />}
      {kind === 'document' && <Document {...file} />}
      {(kind === 'image' || kind === 'video' || kind === 'audio') && <Media {...file} kind={kind} />}
    </Dialog>
  )
}

type FileProps = Pick<PreviewProps, 'viewer' | 'bucket' | 'name'>

function Text({ viewer, bucket, name, size }: FileProps & { readonly size: number }) {
  const { value, error } = useLoaded(
    async (signal) =>
      (await readFile(viewer, bucket, name, { signal, ...(size > 0 ? { first: shownText } : {}) })).text(),
    [viewer, bucket, name],
  )
  return (
    <>
      <Problem error={error} />
      {value === undefined ? (
        error === undefined && <Loading />
      ) : (
        <pre class="preview wrapped" tabIndex={0}>
          {value}
        </pre>
      )}
      {size > shownText && <p class="faint">The first {bytesText(shownText)} are shown.</p>}
    </>
  )
}

function Media({ viewer, bucket, name, kind }: FileProps & { readonly kind: 'image' | 'video' | 'audio' }) {
  const { value: blob, error } = useLoaded(
    (signal) => readFile(viewer, bucket, name, { signal }),
    [viewer, bucket, name],
  )
  const url = useObjectUrl(blob)
  return (
    <>
      <Problem error={error} />
      {url === undefined && error === undefined && <Loading />}
      {url !== undefined && kind === 'image' && <img class="preview" src={url} alt={name} />}
      {url !== undefined && kind === 'video' && <video class="preview" src={url} controls />}
      {url !== undefined && kind === 'audio' && <audio src={url} controls />}
    </>
  )
}

/** The address of some bytes, while the component is shown. */
function useObjectUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!blob) return undefined
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return url
}

/** A `blob:` would have the content security policy of this page, which allows no viewer of documents. */
function Document({ viewer, bucket, name }: FileProps) {
  const { value: link, error } = useLoaded(() => signedLink(viewer, bucket, name, 60), [viewer, bucket, name])
  return (
    <>
      <Problem error={error} />
      {link !== undefined && <iframe class="preview" title={name} src={link} />}
    </>
  )
}
