// The page with a button that uses up a link (GOTRUE_MAILER_VERIFY_BUTTON).
import { pageStyle } from '../../../http/page-style.ts'
import { escapeHtml } from './html-text.ts'

/** @param query The query string of the link. */
export const verifyPage = (query: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Confirm</title>
<style>${pageStyle}body { margin-top: 4rem; text-align: center }
</style>
</head>
<body>
<p>Press the button to continue.</p>
<form method="post" action="verify/confirm?${escapeHtml(query)}"><button class="button">Continue</button></form>
</body>
</html>
`
