// The users page of the console: create, confirm, administrate, ban, sign out, delete; and its mailbox.
import type { Page } from 'puppeteer-core'
import t from 'tap'
import { startConsoleServer, type ConsoleServer } from '../support/console.ts'
import { fill, launchBrowser, openConsole, openPage, press, shows } from './support/browser.ts'

const attack = '<img src=x onerror=alert(1)><script>alert(2)</script>'

async function send(url: string, path: string, body: object, key = ''): Promise<Response> {
  return fetch(`${url}/auth/v1/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(key === '' ? {} : { apikey: key }) },
    body: JSON.stringify(body),
  })
}

const password = 'correct horse battery'

const signIn = ({ url }: ConsoleServer, email: string): Promise<Response> =>
  send(url, 'token?grant_type=password', { email, password })

/** Opens the page of the user with an address. */
async function openUser(page: Page, address: string): Promise<void> {
  await openPage(page, '#/users', 'Users')
  await press(page, address)
  await page.waitForFunction((text) => document.querySelector('main h1')?.textContent === text, {}, address)
}

t.test('accounts', async (t) => {
  const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t)])
  const { page, faults } = await openConsole(browser, server)
  await openPage(page, '#/users', 'Users')
  t.ok(await shows(page, 'There are no users yet'))
  t.ok(await shows(page, 'This page acts as service_role'))

  for (const name of ['ann', 'ben']) {
    await openPage(page, '#/users', 'Users')
    await press(page, 'Create user')
    await fill(page, 'E-mail', `${name}@example.com`)
    await fill(page, 'Password', password)
    if (name === 'ben') await page.click('dialog input[type=checkbox]')
    await press(page, 'Create')
    await page.waitForFunction(
      (text) => document.querySelector('main h1')?.textContent === text,
      {},
      `${name}@example.com`,
    )
  }

  t.ok(await shows(page, 'unconfirmed'), 'Ben')
  t.equal((await signIn(server, 'ben@example.com')).status, 400, 'cannot sign in')
  await press(page, 'Confirm')
  t.ok(await shows(page, 'confirmed', '.facts .badge.good'))
  t.equal((await signIn(server, 'ben@example.com')).status, 200, 'can now')

  await press(page, 'Edit')
  await page.waitForSelector('dialog[open] textarea')
  await page.click('dialog[open] textarea')
  await page.keyboard.down('Control')
  await page.keyboard.press('KeyA')
  await page.keyboard.up('Control')
  await page.keyboard.type(JSON.stringify({ full_name: attack }))
  await page.waitForFunction(
    (text) => document.querySelector<HTMLInputElement>('dialog textarea')?.value === text,
    {},
    JSON.stringify({ full_name: attack }),
  )
  await press(page, 'Save')
  t.ok(await shows(page, attack, '.facts'), 'names are shown as text')

  await press(page, 'Ban')
  t.ok(await shows(page, 'banned', '.badges'))
  t.equal((await signIn(server, 'ben@example.com')).status, 400, 'banned')
  await press(page, 'Unban')
  await page.waitForFunction(() => !document.querySelector('.badges')?.textContent.includes('banned'))

  t.ok(await shows(page, 'node', 'ul.rows'), 'the session of the sign-in')
  await press(page, 'Sign out', 'ul.rows')
  t.ok(await shows(page, 'The user is signed in nowhere.'))

  await openUser(page, 'ann@example.com')
  await press(page, 'Make administrator')
  t.ok(await shows(page, 'administrator', '.badges'))
  const { rows } = await server.database.query('select email from auth.users where app_role = $1', ['admin'])
  t.same(rows, [{ email: 'ann@example.com' }])

  await openPage(page, '#/users', 'Users')
  t.ok(await shows(page, 'administrator', 'table .badges'), 'in the list, too')
  await page.type('input[type=search]', 'ben')
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
  t.ok(await shows(page, attack, 'tbody'))

  await openUser(page, 'ben@example.com')
  await press(page, 'Look as this user')
  t.ok(await shows(page, 'ben@example.com', '.viewer'))
  await page.goBack()
  await press(page, 'Delete')
  t.ok(await page.waitForSelector('dialog .button.danger:disabled'), 'the address has to be typed first')
  await fill(page, 'Type ben@example.com to confirm', 'ben@example.com')
  await press(page, 'Delete for ever')
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
  t.equal((await signIn(server, 'ben@example.com')).status, 400)
  t.same(faults, [])
})

t.test('second factors', async (t) => {
  const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t)])
  const { page, faults } = await openConsole(browser, server)
  const id = '11111111-1111-4111-8111-111111111111'
  await server.database.query(`
    insert into auth.users (id, aud, role, email, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
    values ('${id}', 'authenticated', 'authenticated', 'ann@example.com', '{}', '{}', now(), now());
    insert into auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at, secret)
    values (gen_random_uuid(), '${id}', '${attack}', 'totp', 'verified', now(), now(), 'ABC')`)
  await openUser(page, 'ann@example.com')
  t.ok(await shows(page, attack, 'ul.rows'))
  await press(page, 'Remove')
  t.ok(await shows(page, 'The user has none.'))
  t.same(faults, [])
})

t.test('passkeys', async (t) => {
  const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t)])
  const { page, faults } = await openConsole(browser, server)
  const [id, passkey] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']
  await server.database.query(`
    insert into auth.users (id, aud, role, email, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
    values ('${id}', 'authenticated', 'authenticated', 'ann@example.com', '{}', '{}', now(), now());
    insert into auth.webauthn_credentials (id, user_id, credential_id, public_key, friendly_name)
    values ('${passkey}', '${id}', '\\x01', '\\x02', '${attack}');
    insert into auth.sessions (id, user_id, created_at, updated_at, aal, passkey_id)
    values (gen_random_uuid(), '${id}', now(), now(), 'aal1', '${passkey}')`)
  await openUser(page, 'ann@example.com')
  t.ok(await shows(page, `${attack}\nadded`, 'ul.rows'), 'names are shown as text')
  t.ok(await shows(page, attack, 'ul.rows .badge'), 'the session names it')
  await press(page, 'Remove')
  t.ok(await shows(page, 'The user has no passkeys.'))
  t.ok(await shows(page, 'passkey that was removed', 'ul.rows .badge'))
  const { rows } = await server.database.query('select from auth.webauthn_credentials')
  t.equal(rows.length, 0)
  t.same(faults, [])
})

t.test('the mailbox', async (t) => {
  const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t)])
  const { page, faults } = await openConsole(browser, server)
  await openPage(page, '#/users/mailbox', 'Users')
  t.ok(await shows(page, 'There are no mails yet'))
  await press(page, 'Accounts')
  await press(page, 'Invite')
  await fill(page, 'E-mail', 'dora@example.com')
  await press(page, 'Send the invitation')
  t.ok(await shows(page, 'dora@example.com', 'table'))
  await press(page, 'Mailbox')
  t.ok(await shows(page, 'You are invited'))
  t.ok(await shows(page, 'Copy link'))

  // It looks again by itself. The second mail has markup of the user in it.
  const sent = await send(server.url, 'signup', { email: 'eve@example.com', password, data: { full_name: attack } })
  t.equal(sent.status, 200)
  t.ok(await shows(page, 'eve@example.com', '.mails'))
  await press(page, 'Read', '.mails li:first-child')
  const frame = await (await page.waitForSelector('.mails iframe'))?.contentFrame()
  await frame?.waitForSelector('a')
  const sandbox = await page.evaluate(() => document.querySelector('.mails iframe')?.getAttribute('sandbox'))
  t.equal(sandbox, 'allow-popups allow-popups-to-escape-sandbox', 'no scripts')
  t.same(faults, [])
})
