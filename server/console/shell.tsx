// The frame of all pages: navigation, as whom one looks, and the chosen page.
import type { ComponentType } from 'preact'
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks'
import { consoleApi, serverUrl } from './api.ts'
import { pagesOf, type Page } from './pages.ts'
import { Empty, Loading, Problem } from './parts.tsx'
import { href, useRoute } from './router.ts'
import { useSession } from './session.tsx'
import { ViewerPicker } from './viewer.tsx'

type ShellProps = { readonly onSignedOut: () => void }

export function Shell({ onSignedOut }: ShellProps) {
  const session = useSession()
  const { path } = useRoute()
  const [isMenuOpen, setMenuOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  const available = pagesOf(session)
  const name = path[0] ?? ''
  const page = available.find((it) => it.name === name)
  useEffect(() => {
    document.title = `${page?.title ?? 'Unknown page'} · rowhouse console`
    setMenuOpen(false)
  }, [name])
  const signOut = (): void => {
    void consoleApi('session', { method: 'DELETE' }).finally(onSignedOut)
  }
  return (
    <div class={isMenuOpen ? 'shell menu-open' : 'shell'}>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        Skip to the page
      </a>
      <header class="top">
        <button
          type="button"
          class="button menu"
          aria-expanded={isMenuOpen}
          aria-controls="navigation"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          Menu
        </button>
        <a class="name" href={href([])}>
          rowhouse
        </a>
        <ViewerPicker />
        <button type="button" class="button quiet" onClick={signOut} title={`Signed in: ${session.actor}`}>
          Sign out
        </button>
      </header>
      <nav id="navigation" aria-label="Pages">
        <ul>
          {available.map(({ name: of, title }) => (
            <li key={of}>
              <a href={href(of === '' ? [] : [of])} {...(of === name ? { 'aria-current': 'page' } : {})}>
                {title}
              </a>
            </li>
          ))}
        </ul>
        <ul>
          <li>
            <a href={`${serverUrl}docs/`}>API reference</a>
          </li>
          <li>
            <a href={`${serverUrl}docs/guide/`}>Guides</a>
          </li>
        </ul>
      </nav>
      <main id="main" tabIndex={-1} ref={main}>
        {page ? (
          <PageOf key={page.name} page={page} />
        ) : (
          <Empty title="There is no such page">
            <a href={href([])}>Home</a>
          </Empty>
        )}
      </main>
    </div>
  )
}

function PageOf({ page }: { readonly page: Page }) {
  const [loaded, setLoaded] = useState<{ readonly Component: ComponentType }>()
  const [loadError, setLoadError] = useState<unknown>()
  const [renderError, reset] = useErrorBoundary() as [unknown, () => void]
  useEffect(() => {
    page.load().then(({ default: Component }) => setLoaded({ Component }), setLoadError)
  }, [page])
  if (renderError !== undefined) {
    return (
      <>
        <Problem error={renderError} />
        <button type="button" class="button" onClick={reset}>
          Draw the page again
        </button>
      </>
    )
  }
  if (loadError !== undefined) {
    return (
      <Empty title="The page could not be loaded">
        <p>The server does not respond, or it has another version since the console was opened.</p>
        <Problem error={loadError} />
        <button type="button" class="button" onClick={() => location.reload()}>
          Load the console again
        </button>
      </Empty>
    )
  }
  return loaded ? <loaded.Component /> : <Loading />
}
