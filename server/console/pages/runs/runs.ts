// Classification runs by the REST API, and images of the storage service, as the chosen viewer.
import { fetchAs, jsonAs, type Viewer } from '../../api.ts'

export type Box = {
  readonly x1: number
  readonly y1: number
  readonly x2: number
  readonly y2: number
  readonly confidence: number
}

/** What the image analysis of this server found; other clients may store anything. */
export type Analysis = {
  readonly boxes?: readonly Box[]
  readonly coverage_percent?: number
  readonly risk_level?: string
  readonly detection_confidence?: number
  readonly method?: string
  readonly image_width?: number
  readonly image_height?: number
}

export type Run = {
  readonly id: string
  readonly image_uri: string
  readonly image_source: string
  readonly result_label: string
  /** Percent. */
  readonly confidence: number
  readonly is_positive: boolean
  readonly recommendation: string | null
  readonly model_version: string | null
  readonly created_at: string
  readonly analysis: Analysis | null
}

export const pageSize = 60

/** The path of a resource of the REST API. */
export type Rest = (resource: string) => string

/** A place in the list: after a run, which shares its time with others perhaps. */
export type Place = Pick<Run, 'created_at' | 'id'>

/** Newest first. @param after the last run of the page before */
export const listRuns = (viewer: Viewer, rest: Rest, after: Place | undefined): Promise<readonly Run[]> => {
  const older = after === undefined ? '' : `&or=${encodeURIComponent(olderThan(after))}`
  return jsonAs(viewer, rest(`classification_runs?order=created_at.desc,id.desc&limit=${pageSize}${older}`))
}

const olderThan = ({ created_at: at, id }: Place): string =>
  `(created_at.lt."${at}",and(created_at.eq."${at}",id.lt.${id}))`

export const deleteRun = (viewer: Viewer, rest: Rest, id: string): Promise<unknown> =>
  jsonAs(viewer, rest(`classification_runs?id=eq.${id}`), { method: 'DELETE' })

/** Analyses an image, stores the run, and keeps the image if the server keeps images. */
export async function analyse(
  viewer: Viewer,
  analysisPath: string,
  file: File,
  keepsImage: boolean,
): Promise<{ readonly run_id?: string }> {
  const form = new FormData()
  form.set('file', file)
  const path = `${analysisPath.replace(/^\/|\/$/g, '')}/predict?store=true${keepsImage ? '&keep_image=true' : ''}`
  const response = await fetchAs(viewer, path.replace(/^\//, ''), { method: 'POST', body: form })
  return (await response.json()) as { readonly run_id?: string }
}

/** Path of an image that this server keeps; undefined for images elsewhere, which the page must not load. */
export function keptImagePath(uri: string): string | undefined {
  const [, path] = /^https?:\/\/[^?#]*\/(storage\/v1\/object\/authenticated\/[^?#]+)$/.exec(uri) ?? []
  return path
}

export const coverageOf = ({ analysis }: Run): number | undefined =>
  typeof analysis?.coverage_percent === 'number' ? analysis.coverage_percent : undefined

/** What the badge of a risk looks like. */
export const riskKind = (level: string): 'good' | 'warning' | 'bad' =>
  level === 'NONE' || level === 'LOW' ? 'good' : level === 'MEDIUM' ? 'warning' : 'bad'

export const boxesOf = ({ analysis }: Run): readonly Box[] =>
  Array.isArray(analysis?.boxes) ? (analysis.boxes as readonly Box[]) : []
