// Requests that are served however overloaded the server is: they tell balancers and people about it.

/**
 * Whether a request target belongs to such a route.
 *
 * @param analysisPath base path of the image analysis, without a slash at its end; undefined without that service
 */
export function exemptFromShedding(analysisPath: string | undefined): (target: string) => boolean {
  const ofAnalysis = analysisPath === undefined ? [] : [`${analysisPath}/health`, `${analysisPath}/ready`]
  const exempt = new Set(['', '/health', '/ready', '/openapi.json', '/docs-json', '/docs', ...ofAnalysis])
  return (target) => {
    const path = target.replace(/[?#].*$/s, '').replace(/\/$/, '')
    return exempt.has(path) || path.startsWith('/docs/')
  }
}
