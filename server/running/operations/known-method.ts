// The methods of HTTP, as values of a bounded number.

/** Those that OpenTelemetry's conventions know. https://opentelemetry.io/docs/specs/semconv/http/http-spans/ */
const known = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'])

/** The method, or `_OTHER`, because clients can send any word. */
export const knownMethod = (method: string): string => (known.has(method) ? method : '_OTHER')
