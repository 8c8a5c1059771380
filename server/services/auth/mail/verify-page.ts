// The page with a button that uses up a link (GOTRUE_MAILER_VERIFY_BUTTON).
import { escapeHtml } from './html-text.ts'

/** @param query The query string of the link. */
export const verifyPage = (query: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>Confirm</title>
<style>
body { font: 18px/1.5 system-ui, sans-serif; max-width: 30em; margin: 4em auto; padding: 0 1em; text-align: center }
button { font: inherit; padding: .5em 2em; cursor: pointer }
</style>
</head>
<body>
<p>Press the button to continue.</p>
<form method="post" action="verify/confirm?${escapeHtml(query)}"><button>Continue</button></form>
</body>
</html>
`
