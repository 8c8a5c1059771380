// What all pages of the server look like. The console's style sheet, which is bundled, has the same colours.

/** Colours as CSS variables, light and dark. */
export const pageColors = `
:root {
  color-scheme: light dark; scrollbar-color: var(--faint) transparent;
  --text: #1f2328; --faint: #59636e; --ground: #fff; --raised: #f6f8fa; --line: #d8dee4; --link: #0b6a61; --mark: #fff1b8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #dfe4ea; --faint: #9aa4af; --ground: #14181d; --raised: #1d232a; --line: #323a43; --link: #5cc8ba; --mark: #5c4d12;
  }
}
`

/** The style of small pages: one column below a line of links. */
export const pageStyle = `${pageColors}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 48rem; padding: 0 1.25rem 3rem; background: var(--ground); color: var(--text); font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: break-word }
a { color: var(--link); text-decoration: none }
a:hover, a:focus-visible { text-decoration: underline }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: .9rem 0; margin-bottom: 1.5rem; border-bottom: 1px solid var(--line) }
h1 { margin: 0 0 1rem; font-size: 1.75rem; line-height: 1.2 }
h2 { margin: 2rem 0 .5rem; font-size: 1.2rem }
code, pre { font: .875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
code { padding: .1em .3em; border-radius: .3em; background: var(--raised) }
pre { padding: .9rem 1.1rem; overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; background: var(--raised); white-space: pre-wrap }
iframe { width: 100%; height: 20rem; border: 1px solid var(--line); border-radius: .5rem; background: #fff }
time, .faint { color: var(--faint) }
.button { display: inline-block; padding: .5rem 1.25rem; border: 0; border-radius: .5rem; background: var(--link); color: var(--ground); font: inherit; cursor: pointer }
dl { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: .4rem 1.5rem }
dt { font-weight: 600 }
dd { margin: 0 }
@media (max-width: 36rem) { dl { display: block } dd { margin-bottom: .75rem } }
`
