// What runs, the keys, snippets, and what to do first.
import type { ConsoleSession, Overview } from '../../../services/console/protocol.ts'
import { consoleApi, serverUrl } from '../../api.ts'
import { Badge, Copy, Loading, Problem, Scrollable, Snippet, useLoaded } from '../../parts.tsx'
import { href } from '../../router.ts'
import { useSession } from '../../session.tsx'

const origin = serverUrl.replace(/\/$/, '')

export default function Home() {
  const session = useSession()
  const { value: overview, error } = useLoaded(() => consoleApi<Overview>('overview'), [])
  return (
    <div class="home">
      <h1>rowhouse {session.version}</h1>
      <Problem error={error} />
      {overview ? (
        <>
          <Checklist overview={overview} session={session} />
          <Keys overview={overview} />
          <Snippets overview={overview} session={session} />
        </>
      ) : (
        error === undefined && <Loading />
      )}
      <Services session={session} />
    </div>
  )
}

type Step = { readonly text: string; readonly isDone: boolean; readonly link: string; readonly how: string }

function Checklist({ overview, session }: { readonly overview: Overview; readonly session: ConsoleSession }) {
  const steps: readonly Step[] = [
    { text: 'First table', isDone: overview.tables > 0, link: href(['sql']), how: 'Write a migration' },
    ...(overview.users === null
      ? []
      : [{ text: 'First user', isDone: overview.users > 0, link: href(['users']), how: 'Create or invite one' }]),
    {
      text: 'First policy',
      isDone: overview.policies > 0,
      link: href(['policies']),
      how: 'Decide who sees which rows',
    },
    {
      text: 'First policy test',
      isDone: overview.policyTests > 0,
      link: href(['policies']),
      how: 'Record who can do what',
    },
  ]
  if (!session.isDevelopment || steps.every(({ isDone }) => isDone)) return null
  return (
    <section class="card">
      <h2>First steps</h2>
      <ul class="checklist">
        {steps.map(({ text, isDone, link, how }) => (
          <li key={text}>
            <Badge kind={isDone ? 'good' : 'plain'}>{isDone ? 'done' : 'to do'}</Badge> {text}
            {!isDone && (
              <>
                : <a href={link}>{how}</a>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Keys({ overview: { keys } }: { readonly overview: Overview }) {
  if (!keys) {
    return (
      <section class="card">
        <h2>Keys</h2>
        <p>
          Only hashes of keys are stored. <a href={href(['operations', 'keys'])}>Create or revoke keys</a>.
        </p>
      </section>
    )
  }
  const rows = [
    ['Publishable key', keys.publishable, 'Acts as anon; for web pages and apps.'],
    ['Secret key', keys.secret, 'Acts as service_role: bypasses all policies. For servers only.'],
    ['User key', keys.user, 'Acts as the development user.'],
  ] as const
  return (
    <section class="card">
      <h2>Keys</h2>
      <dl class="keys">
        {rows.map(([name, key, note]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <code>{key}</code> <Copy text={key} />
              <br />
              <small class="faint">{note}</small>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Snippets({ overview, session }: { readonly overview: Overview; readonly session: ConsoleSession }) {
  const key = overview.keys?.publishable ?? 'YOUR_PUBLISHABLE_KEY'
  const rest = `${origin}${session.restPath === '/' ? '' : session.restPath}`
  return (
    <section class="card">
      <h2>Connect</h2>
      <h3>supabase-js</h3>
      <Snippet
        text={`import { createClient } from '@supabase/supabase-js'\n\nconst supabase = createClient('${origin}', '${key}')`}
      />
      <h3>curl</h3>
      <Snippet text={`curl '${rest}/' -H 'apikey: ${key}'`} />
      {overview.database !== null && (
        <>
          <h3>psql</h3>
          <Snippet text={`psql '${overview.database}'`} />
          <small class="faint">
            <code>rowhouse url</code> prints the URL with its password.
          </small>
        </>
      )}
    </section>
  )
}

function Services({ session: { services, restPath, analysisPath, hasMailbox } }: { readonly session: ConsoleSession }) {
  const rows: readonly (readonly [string, string, string])[] = [
    ['rest', restPath, 'REST API'],
    ['auth', '/auth/v1', 'Sign-in'],
    ['auth-v1', '/auth/v1', 'Sign-in'],
    ['storage', '/storage/v1', 'Files'],
    ['realtime', '/realtime/v1', 'Realtime'],
    ['functions', '/functions/v1', 'Functions'],
    ['mcp', '/mcp', 'Tools for agents'],
    ['reports', '/report', 'Valuations'],
    ['analysis', analysisPath ?? '', 'Image analysis'],
  ]
  return (
    <section class="card">
      <h2>What runs</h2>
      <Scrollable>
        <table>
          <tbody>
            {rows
              .filter(([service]) => services.includes(service))
              .map(([service, path, title]) => (
                <tr key={service}>
                  <th scope="row">{title}</th>
                  <td>
                    <code>{`${origin}${path}`}</code>
                  </td>
                  <td>
                    <Copy text={`${origin}${path}`} />
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      </Scrollable>
      <p>
        <a href={`${serverUrl}docs/`}>API reference</a> · <a href={`${serverUrl}docs/guide/`}>Guides</a>
        {hasMailbox && (
          <>
            {' '}
            · <a href={`${serverUrl}auth/v1/dev/mailbox`}>Mailbox</a>
          </>
        )}
      </p>
    </section>
  )
}
