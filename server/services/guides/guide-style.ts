// The style of the pages of guides, and the policy that allows nothing else.
import { createHash } from 'node:crypto'
import { pageColors } from '../../http/page-style.ts'

/** Part of each page: pages load no other files. */
export const guideStyle = `${pageColors}* { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: break-word }
a { color: var(--link); text-decoration: none }
a:hover, a:focus-visible { text-decoration: underline }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.25rem; padding: .75rem 1.5rem; border-bottom: 1px solid var(--line) }
header .name { font-weight: 700; color: var(--text) }
header form { flex: 1 1 14rem; max-width: 28rem; margin-left: auto }
input { width: 100%; padding: .4rem .75rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--raised); color: inherit; font: inherit }
.columns { display: grid; grid-template-columns: 17rem minmax(0, 52rem); gap: 3rem; max-width: 80rem; margin: 0 auto; padding: 0 1.5rem }
main { order: 1; padding: 1.5rem 0 4rem; min-width: 0 }
.contents { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 1.5rem .5rem 3rem 0; font-size: .9rem; line-height: 1.4 }
.contents h2 { margin: 0 0 .75rem; padding: 0; border: 0; font-size: .9rem }
.contents p { margin: 1.1rem 0 .25rem; color: var(--faint); font-size: .8rem }
.contents ul { margin: 0; padding: 0; list-style: none }
.contents ul ul { margin-left: .6rem; border-left: 1px solid var(--line) }
.contents li a { display: block; padding: .15rem .6rem; border-radius: .35rem; color: var(--text) }
.contents [aria-current] { background: var(--raised); color: var(--link); font-weight: 600 }
h1 { margin: 0 0 1rem; font-size: 2rem; line-height: 1.2 }
h2 { margin: 2.5rem 0 1rem; padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: 1.4rem; line-height: 1.3 }
h3 { margin: 2rem 0 .75rem; font-size: 1.1rem }
.anchor { color: var(--faint); font-weight: 400; opacity: 0 }
:hover > .anchor, .anchor:focus { opacity: 1 }
code { padding: .1em .3em; border-radius: .3em; background: var(--raised); font: .875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
pre { padding: .9rem 1.1rem; overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; background: var(--raised); overflow-wrap: normal; line-height: 1.45 }
pre code { padding: 0; background: none; line-height: inherit }
.table { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; min-width: 100%; font-size: .925rem; line-height: 1.5 }
th, td { padding: .45rem .75rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th { color: var(--faint); font-weight: 600 }
li { margin: .25rem 0 }
mark { background: var(--mark); color: inherit }
.hit { margin: 1.25rem 0 }
.hit p { margin: .1rem 0; color: var(--faint); font-size: .925rem }
.to-contents { display: none }
@media (max-width: 56rem) {
  header { gap: .5rem .9rem; padding: .75rem 1rem }
  header form { flex-basis: 100%; max-width: none }
  .to-contents { display: inline }
  .columns { display: block; padding: 0 1rem }
  main { padding: 1.25rem 0 2rem }
  .contents { position: static; max-height: none; padding: 1.5rem 0 3rem; border-top: 1px solid var(--line); font-size: 1rem }
  .contents li a { padding: .35rem .6rem }
  h1 { font-size: 1.6rem }
}
@media print { header, .contents, .anchor { display: none } .columns { display: block } }
`

/** Allows only the style of the page, and the search on this origin. https://www.w3.org/TR/CSP3/ */
export const guideSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(guideStyle).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')
