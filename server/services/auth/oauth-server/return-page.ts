// The page between an error and an application that has registered itself.
import { pageStyle } from '../../../http/page-style.ts'
import { escapeHtml } from '../mail/html-text.ts'

/**
 * A page that says what is wrong, with a link in the place of a redirect: anyone can register an application, so that a link to
 * this server would lead to any page of the web. https://www.rfc-editor.org/rfc/rfc9700#section-4.11.2
 *
 * @param description of the error
 * @param target where the redirect would lead
 */
export const returnPage = (description: string, target: string): string => {
  const { host, protocol } = new URL(target)
  const place = protocol === 'https:' ? host : `${protocol}//${host}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Request refused</title>
<style>${pageStyle}body { margin-top: 4rem; text-align: center }
</style>
</head>
<body>
<p>An application asked for access to your account in a way that is not valid: ${escapeHtml(description)}.</p>
<p>It has registered itself. Only go on if you know <strong>${escapeHtml(place)}</strong>.</p>
<p><a href="${escapeHtml(target)}" rel="noreferrer">Return to ${escapeHtml(place)}</a></p>
</body>
</html>
`
}

export const returnPageHeaders = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
}
