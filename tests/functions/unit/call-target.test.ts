// Which function a request target names, whatever its path is written like.
import t from 'tap'
import { callTargetOf } from '../../../server/services/functions/call-target.ts'
import { FunctionError } from '../../../server/services/functions/function-error.ts'

const named: readonly (readonly [target: string, name: string, seen: string])[] = [
  ['/functions/v1/hello', 'hello', '/hello'],
  ['/functions/v1/hello/', 'hello', '/hello/'],
  ['/functions/v1/hello?name=Ada&x=%20', 'hello', '/hello?name=Ada&x=%20'],
  ['/functions/v1/rest_api-2/tasks/1', 'rest_api-2', '/rest_api-2/tasks/1'],
  ['/functions/v1/hello/a%2Fb', 'hello', '/hello/a%2Fb'],
  ['/functions/v1/hello//x', 'hello', '/hello//x'],
  ['/functions/v1/hello/..', '', ''],
  ['/functions/v1/open/../secret', 'secret', '/secret'],
  ['/functions/v1/open/%2e%2E/secret?q', 'secret', '/secret?q'],
  ['/functions/v1/open\\..\\secret', 'secret', '/secret'],
  ['/functions/v1/hello/ü', 'hello', '/hello/%C3%BC'],
]

for (const [target, name, seen] of named) {
  t.test(target, (t) => {
    if (name === '') t.throws(() => callTargetOf(target), FunctionError)
    else t.strictSame(callTargetOf(target), { name, target: seen })
    t.end()
  })
}

const refused = [
  '/functions/v1',
  '/functions/v1/',
  '/functions/v1?hello',
  '/functions/v1//hello',
  '/functions/v1/../auth/v1/user',
  '/functions/v1/%2e%2e/%2e%2e/rest',
  '/functions/v1/_shared',
  '/functions/v1/1st',
  '/functions/v1/.env',
  '/functions/v1/a.b',
  '/functions/v1/open%2f..%2fsecret',
  '/functions/v1/open/..%2fsecret',
  '/functions/v1/open/..%5csecret',
  '/functions/v1/open/%252e%252e%252fsecret',
  '/functions/v1/open/x%2f..%2f..%2fsecret',
  '//host/functions/v1/hello',
]

for (const target of refused) {
  t.test(`${target} names no function`, (t) => {
    t.throws(() => callTargetOf(target), FunctionError)
    t.end()
  })
}
