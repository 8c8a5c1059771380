import { readFileSync } from 'node:fs'
import t from 'tap'
import { nodeOptions, nodeOptionsIn } from '../../support/node-options.ts'

const read = (file: string): string => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')

t.test('every way to start the service has the options of npm start', (t) => {
  t.strictSame(nodeOptions, ['--max-semi-space-size=32', '--v8-pool-size=1'])
  const [, command = ''] = /^CMD (.*)$/m.exec(read('Dockerfile')) ?? []
  t.strictSame(nodeOptionsIn((JSON.parse(command) as string[]).join(' ')), nodeOptions)
  const [, start = ''] = /^ExecStart=(.*)$/m.exec(read('server/running/deploy.md')) ?? []
  t.strictSame(nodeOptionsIn(start), nodeOptions)
  t.end()
})
