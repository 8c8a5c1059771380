// The pages of settings by task in server/config, from the table of settings: `npm run guides` writes them.
import { settingsTable } from '../../server/config/dump.ts'
import { anchorOf } from '../../server/services/guides/guides.ts'

type Task = {
  readonly task: string
  /** The settings, by their names or the beginning of their names (`name-*`). The first task of all pages that matches has a setting. */
  readonly settings: readonly string[]
}

type Page = {
  readonly file: string
  readonly title: string
  readonly purpose: string
  readonly tasks: readonly Task[]
}

const pages: readonly Page[] = [
  {
    file: 'database.md',
    title: 'Settings of the database',
    purpose: 'How to connect to the database, divide its connections, apply migrations, and notice changes.',
    tasks: [
      { task: 'Choose the database', settings: ['db-uri', 'data-dir', 'backup-dir'] },
      {
        task: 'Apply migrations',
        settings: ['migrate-on-start', 'migration-database-url', 'migrations-dir', 'schemas-dir'],
      },
      { task: 'Divide connections', settings: ['db-pool*', 'db-prepared-statements', 'db-tx-block'] },
      { task: 'Read from replicas', settings: ['database-replica-*'] },
      {
        task: 'Reload schema and settings',
        settings: ['db-channel*', 'db-config', 'db-pre-config', 'db-reload-interval'],
      },
    ],
  },
  {
    file: 'server.md',
    title: 'Settings of the server',
    purpose: 'How to choose services, addresses, limits of requests and the origins of pages.',
    tasks: [
      {
        task: 'Choose services and paths',
        settings: ['services', 'console*', 'rest-base-path', 'docs-mode', 'openapi-*'],
      },
      {
        task: 'Listen, restart and use several processors',
        settings: [
          'server-host',
          'server-port',
          'server-reuseport',
          'server-unix-*',
          'server-workers',
          'server-drain-time',
        ],
      },
      { task: 'Run behind a proxy, and for pages of other origins', settings: ['trusted-proxies', 'server-cors-*'] },
      {
        task: 'Limit requests and load',
        settings: ['server-request-timeout', 'body-limit', 'request-header-limit', 'load-shedding-wait'],
      },
    ],
  },
  {
    file: 'rest.md',
    title: 'Settings of the REST API',
    purpose: 'How to choose what the REST API exposes, to whom, and how much of it.',
    tasks: [
      {
        task: 'Expose schemas to roles',
        settings: ['db-schemas', 'db-anon-role', 'db-extra-search-path', 'db-root-spec', 'db-select-readable-columns'],
      },
      { task: 'Verify tokens', settings: ['jwt-*'] },
      {
        task: 'Run SQL with each request',
        settings: ['db-pre-request', 'db-hoisted-tx-settings', 'db-tx-end', 'app.settings.*'],
      },
      {
        task: 'Allow more or less in requests',
        settings: ['db-aggregates-enabled', 'db-plan-enabled', 'explain-roles', 'url-*', 'db-version-column'],
      },
      {
        task: 'Limit requests and responses',
        settings: ['db-max-*', 'rest-body-*', 'batch-*', 'idempotency-*', 'rest-export-*', 'rest-import-*'],
      },
      { task: 'Cache plans, shorten errors', settings: ['plan-cache-*', 'client-error-verbosity'] },
    ],
  },
  {
    file: 'operate.md',
    title: 'Settings for operation',
    purpose: 'How to log, measure and trace requests and statements.',
    tasks: [
      { task: 'Log', settings: ['log-*', 'slow-query-*', 'server-trace-header'] },
      { task: 'Measure', settings: ['admin-server-*', 'server-timing-enabled'] },
      { task: 'Trace', settings: ['otel-*', 'database-trace-context'] },
    ],
  },
  {
    file: 'sign-in.md',
    title: 'Settings of sign-in',
    purpose: 'How to choose who may sign up, and how they sign in.',
    tasks: [
      {
        task: 'Addresses of the service and its pages',
        settings: ['api-external-url', 'gotrue-site-url', 'gotrue-uri-allow-list', 'gotrue-cors-*'],
      },
      {
        task: 'Ways to sign up and sign in',
        settings: ['gotrue-disable-signup', 'gotrue-external-*', 'gotrue-security-manual-linking-enabled'],
      },
      { task: 'Passwords', settings: ['gotrue-password-*', 'gotrue-security-update-password-*'] },
      { task: 'Limit wrong passwords', settings: ['auth-*'] },
      { task: 'Hooks', settings: ['gotrue-hook-*'] },
    ],
  },
  {
    file: 'sessions.md',
    title: 'Settings of sessions',
    purpose: 'How to sign cookies and tokens, and choose how long users stay signed in.',
    tasks: [
      { task: 'Cookies', settings: ['session-secrets', 'secure-cookies'] },
      { task: 'Tokens', settings: ['gotrue-jwt-*', 'gotrue-security-refresh-*'] },
      { task: 'Sessions', settings: ['gotrue-sessions-*'] },
    ],
  },
  {
    file: 'passkeys.md',
    title: 'Settings of passkeys and second factors',
    purpose: 'How to let users sign in with passkeys, and add second factors.',
    tasks: [
      {
        task: 'Passkeys and security keys',
        settings: ['gotrue-passkey-*', 'gotrue-webauthn-*', 'gotrue-mfa-web-authn-*'],
      },
      { task: 'Second factors', settings: ['gotrue-mfa-rate-limit-*', 'gotrue-mfa-*'] },
    ],
  },
  {
    file: 'oauth-server.md',
    title: 'Settings of the OAuth server',
    purpose: 'How to let applications of others get access to accounts, with the consent of their users.',
    tasks: [{ task: 'Applications of others', settings: ['gotrue-oauth-server-*', 'gotrue-rate-limit-oauth-*'] }],
  },
  {
    file: 'mail.md',
    title: 'Settings of mails and messages',
    purpose: 'How to send the mails and messages of sign-in, and how many.',
    tasks: [
      { task: 'Mail server', settings: ['gotrue-smtp-*'] },
      { task: 'Mails', settings: ['gotrue-mailer-*'] },
      { task: 'Messages to phones', settings: ['gotrue-sms-*'] },
      { task: 'Limit mails, codes and requests', settings: ['gotrue-rate-limit-*'] },
    ],
  },
  {
    file: 'files.md',
    title: 'Settings of files and images',
    purpose: 'How to store files, resize images, and analyse them.',
    tasks: [
      {
        task: 'Store files',
        settings: ['storage-backend', 'storage-file-*', 'storage-s3-*', 'storage-memory-cache', 'storage-public-url'],
      },
      { task: 'Limit uploads', settings: ['file-size-limit', 'storage-unicode-names', 'upload-*', 'tus-*'] },
      { task: 'Resize images', settings: ['image-transformation-*'] },
      { task: 'Analyse images', settings: ['image-*'] },
    ],
  },
  {
    file: 'realtime.md',
    title: 'Settings of realtime',
    purpose: 'How to read changes of rows from the database, and limit WebSockets, channels and messages.',
    tasks: [
      {
        task: 'Read the log of changes',
        settings: ['realtime-database-url', 'realtime-replay-*', 'realtime-max-transaction-bytes'],
      },
      {
        task: 'Limit clients and channels',
        settings: ['max-connections', 'tenant-max-*', 'client-presence-*', 'realtime-*'],
      },
    ],
  },
  {
    file: 'functions.md',
    title: 'Settings of functions',
    purpose: 'How to choose what runs at `/functions/v1`, what it knows of the server, and how much it may use.',
    tasks: [
      { task: 'Choose the functions', settings: ['functions-dir', 'functions-url'] },
      {
        task: 'Give functions addresses and keys',
        settings: [
          'functions-public-url',
          'functions-anon-key',
          'functions-service-role-key',
          'functions-database-url',
        ],
      },
      { task: 'Limit functions', settings: ['functions-*'] },
    ],
  },
  {
    file: 'webhooks.md',
    title: 'Settings of webhooks',
    purpose: 'How to choose what outgoing calls may reach, how often they are attempted, and how long they are kept.',
    tasks: [
      { task: 'Choose what calls may reach', settings: ['webhooks-allowed-hosts'] },
      {
        task: 'Limit attempts',
        settings: [
          'webhooks-max-attempts',
          'webhooks-max-pause',
          'webhooks-max-timeout',
          'webhooks-concurrency',
          'webhooks-host-concurrency',
        ],
      },
      { task: 'Keep calls and responses', settings: ['webhooks-*'] },
    ],
  },
  {
    file: 'schedules.md',
    title: 'Settings of schedules',
    purpose: 'How to choose the roles whose jobs run, the time zone, and limits.',
    tasks: [{ task: 'Run jobs at set times', settings: ['schedules-*'] }],
  },
  {
    file: 'mcp.md',
    title: 'Settings of agents',
    purpose: 'How to choose what agents may do at `/mcp`, and how much.',
    tasks: [
      { task: 'Let agents write', settings: ['mcp-mode'] },
      { task: 'Limit agents', settings: ['mcp-*'] },
    ],
  },
]

const lines = settingsTable().split('\n')
const [header = '', rule = ''] = lines
/** The rows by the name of their setting. */
const rows = new Map(
  lines.flatMap((row): [string, string][] => {
    const [, name] = /^\| `([^`]+)`/.exec(row) ?? []
    return name === undefined ? [] : [[name, row]]
  }),
)
const ignored = lines.filter((line) => line.startsWith('- '))

const matches = (name: string, pattern: string): boolean =>
  pattern === name || (pattern.endsWith('*') && name.startsWith(pattern.slice(0, -1)))

const tasks = pages.flatMap(({ file, tasks: own }) => own.map((task) => ({ file, ...task })))
const taskOf = (name: string): string | undefined =>
  tasks.find(({ settings }) => settings.some((pattern) => matches(name, pattern)))?.task

/** Settings that no page has. */
export const settingsWithoutPage: readonly string[] = [...rows.keys()].filter((name) => taskOf(name) === undefined)

const table = (task: string): string =>
  [header, rule, ...[...rows].filter(([name]) => taskOf(name) === task).map(([, row]) => row)].join('\n')

const pageText = ({ title, purpose, tasks: own }: Page): string =>
  [
    `# ${title}`,
    `${purpose} [Settings](README.md) says where they are read from. Written by \`npm run guides\`.`,
    ...own.flatMap(({ task }) => [`## ${task}`, table(task)]),
  ]
    .join('\n\n')
    .concat('\n')

const index = (): string =>
  [
    ['| to … | page |', '| --- | --- |'].join('\n'),
    ...tasks.map(
      ({ file, task }) =>
        `| ${task} | [${pages.find((page) => page.file === file)?.title ?? ''}](${file}#${anchorOf(task)}) |`,
    ),
  ]
    .join('\n')
    .concat('\n\nAccepted, but ignored:\n\n', ignored.join('\n'), '\n')

/** The page `README.md` with its generated part, between comments, as it should be. */
export const withIndex = (text: string): string =>
  text.replace(/<!-- settings -->[^]*<!-- \/settings -->/, () => `<!-- settings -->\n\n${index()}\n<!-- /settings -->`)

/** The generated pages by their names. */
export const settingsPages: ReadonlyMap<string, string> = new Map(pages.map((page) => [page.file, pageText(page)]))
