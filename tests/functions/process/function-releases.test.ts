// Functions on another release of Node.js, whose permissions have other options.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { nodeWithReusePort } from '../../support/other-node.ts'

const program = fileURLToPath(new URL('../../support/functions-results.ts', import.meta.url))
const loader = fileURLToPath(new URL('../../typescript.mjs', import.meta.url))

t.test('Node.js 22 runs them alike', async (t) => {
  const { stdout } = await promisify(execFile)(await nodeWithReusePort(), [`--import=${loader}`, program])
  t.match(JSON.parse(stdout), {
    release: /^22\./,
    page: '<h1>Page</h1>\n',
    read: /^Error: Access to this API has been restricted/,
    write: /^Error: Access to this API has been restricted/,
    process: /^Error: Access to this API has been restricted/,
    web: ['function', { id: '7' }],
    rejection: [500, 'Internal Server Error'],
    exception: [500, 'Internal Server Error'],
    express: [200, 'Hello'],
  })
})
