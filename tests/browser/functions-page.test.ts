// The page of functions in Chromium.
import t from 'tap'
import { fill, launchBrowser, openConsole, openPage, press, shows } from './support/browser.ts'
import { startConsoleServer } from '../support/console.ts'
import { folderWith } from '../support/function-server.ts'

const markup = '<img src=x onerror=alert(1)>'

t.test('functions, their calls and logs', async (t) => {
  const folder = await folderWith(t, {
    'hello/index.ts': `Deno.serve(async (request) => {
      const role = JSON.parse(atob(request.headers.get('authorization').split('.')[1])).role
      console.log('${markup} by', role)
      return new Response('${markup} ' + role + ' ' + request.headers.get('x-tenant') + ' ' + (await request.text()), {
        status: 201, headers: { 'content-type': 'text/html', 'x-mark': '<b>mark</b>' },
      })
    })`,
    'broken/index.ts': `import x from 'npm:not-installed-at-all'\nDeno.serve(() => new Response(x))`,
  })
  const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t, { FUNCTIONS_DIR: folder })])
  const { page, faults } = await openConsole(browser, server)
  await openPage(page, '#/functions', 'Functions')
  t.ok(await shows(page, 'not-installed-at-all', 'td'), 'one does not compile')
  await press(page, 'hello', 'td')
  await fill(page, 'Headers, one per line', 'X-Tenant: 5', 'form')
  await fill(page, 'Body', '[1]', 'form')
  await press(page, 'Call as anon', 'form')
  t.ok(await shows(page, `${markup} anon 5 [1]`, '.function-response'), 'the response is text')
  t.ok(await shows(page, '201', '.function-response'))
  t.ok(await shows(page, `${markup} by anon`, '.function-log'), 'the log is text')
  t.ok(await shows(page, 'request ', '.function-log'))
  await fill(page, 'Path and query', '../../../rest/v1/', 'form')
  await press(page, 'Call as anon', 'form')
  t.ok(await shows(page, 'leads out of the function', 'form .problem'))
  await fill(page, 'Headers, one per line', 'nonsense', 'form')
  await press(page, 'Call as anon', 'form')
  t.ok(await shows(page, 'is not a header', 'form .problem'))
  t.equal(await page.$('main img, main b'), null)

  const { rows } = await server.database.query(
    "select details from rowhouse.console_log where action = 'change' order by id desc limit 1",
  )
  t.match(rows, [{ details: { method: 'POST', path: 'functions/v1/hello', as: { role: 'anon' } } }])

  await press(page, 'All functions')
  await press(page, 'broken', 'td')
  t.ok(await shows(page, 'It does not compile'))
  await openPage(page, '#/functions/nothing', 'Function nothing')
  t.ok(await shows(page, 'There is no function nothing'))
  t.same(faults, [])
})
