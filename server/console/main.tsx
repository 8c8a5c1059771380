// Starts the console in the browser.
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ConsoleSession } from '../services/console/protocol.ts'
import { onSessionEnd, useSessionForRequests, type Viewer } from './api.ts'
import { keepViewer, keptViewer } from './kept-viewer.ts'
import { Loading } from './parts.tsx'
import { isLink, openSession, SessionProvider, SignIn } from './session.tsx'
import { Shell } from './shell.tsx'
import { ViewerProvider } from './viewer.tsx'

function Console() {
  const [session, setSession] = useState<ConsoleSession>()
  const [error, setError] = useState<unknown>()
  const begin = (opened: ConsoleSession): void => {
    useSessionForRequests(opened)
    setError(undefined)
    setSession(opened)
  }
  const end = (): void => {
    useSessionForRequests(undefined)
    setSession(undefined)
    setError(new Error('The session has ended.'))
  }
  useEffect(() => {
    const open = (): void => void openSession().then(begin, setError)
    // A new link in a tab where the console is open.
    const opened = (): void => {
      if (isLink()) open()
    }
    open()
    addEventListener('hashchange', opened)
    const stop = onSessionEnd(end)
    return () => {
      removeEventListener('hashchange', opened)
      stop()
    }
  }, [])
  if (session) return <SignedIn session={session} onSignedOut={end} />
  return error === undefined ? <Loading /> : <SignIn error={error} onSession={begin} />
}

type SignedInProps = { readonly session: ConsoleSession; readonly onSignedOut: () => void }

function SignedIn({ session, onSignedOut }: SignedInProps) {
  // At first the role with the fewest rights: people choose another themselves.
  const [viewer, setViewer] = useState<Viewer>(
    () => keptViewer(session.roles) ?? { kind: 'role', role: session.anonymousRole ?? session.roles[0] ?? 'anon' },
  )
  const choose = (chosen: Viewer): void => {
    keepViewer(chosen)
    setViewer(chosen)
  }
  return (
    <SessionProvider value={session}>
      <ViewerProvider value={{ viewer, choose }}>
        <Shell onSignedOut={onSignedOut} />
      </ViewerProvider>
    </SessionProvider>
  )
}

const root = document.getElementById('console')
if (root) render(<Console />, root)
