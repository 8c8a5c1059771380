// The paths of the image analysis, in the format of the original service.

/** A path below the prefix, which may be the root. */
export const pathBelow = (prefix: string, path: string): string => `${prefix === '/' ? '' : prefix}${path}`

/** The response to `GET {prefix}`: the paths of all routes. */
export const baseDescription = (prefix: string) => ({
  base_url_path: prefix,
  health: pathBelow(prefix, '/health'),
  predict: pathBelow(prefix, '/predict'),
  predict_batch: pathBelow(prefix, '/predict/batch'),
  live_detect_websocket: pathBelow(prefix, '/ws/live-detect'),
  openapi: pathBelow(prefix, '/openapi.json'),
})

/** The part of the response to `GET /` for clients of the image analysis, which may be mounted at the root. */
export const entrypoint = (prefix: string) => ({
  ...(prefix === '/' ? baseDescription(prefix) : {}),
  message: 'Image analysis is served below api_prefix.',
  api_prefix: prefix,
  docs_url: pathBelow(prefix, '/docs'),
  openapi_url: pathBelow(prefix, '/openapi.json'),
})
