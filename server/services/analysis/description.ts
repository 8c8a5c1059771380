// Where the image analysis is, as clients of the original service ask for it.

/** A path below the prefix; the prefix may be the root. */
export const pathBelow = (prefix: string, path: string): string => `${prefix === '/' ? '' : prefix}${path}`

/** `GET {prefix}`: where everything is. */
export const baseDescription = (prefix: string) => ({
  base_url_path: prefix,
  health: pathBelow(prefix, '/health'),
  predict: pathBelow(prefix, '/predict'),
  predict_batch: pathBelow(prefix, '/predict/batch'),
  live_detect_websocket: pathBelow(prefix, '/ws/live-detect'),
  openapi: pathBelow(prefix, '/openapi.json'),
})

/** What `GET /` says to clients of the analysis. At the root, that is the base path, too. */
export const entrypoint = (prefix: string) => ({
  ...(prefix === '/' ? baseDescription(prefix) : {}),
  message: 'Image analysis is served below api_prefix.',
  api_prefix: prefix,
  docs_url: pathBelow(prefix, '/docs'),
  openapi_url: pathBelow(prefix, '/openapi.json'),
})
