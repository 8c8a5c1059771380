// Paths of agents, and the limits that are added to them.
import t from 'tap'
import { limitedQuery, targetOf, without } from '../../../server/services/mcp/target.ts'
import { ToolRefusal } from '../../../server/services/mcp/tool-refusal.ts'
import { cpuTime } from '../../support/cpu-time.ts'

t.test('paths', async (t) => {
  for (const [path, resource, query] of [
    ['/tasks', 'tasks', ''],
    ['/tasks?', 'tasks', ''],
    ['/rest/v1/tasks?id=eq.1', 'tasks', 'id=eq.1'],
    ['/rest/v1', undefined, undefined],
    ['/rpc/add?a=1?b', 'rpc/add', 'a=1?b'],
    ['/größe?name=eq.a b', 'gr%C3%B6%C3%9Fe', 'name=eq.a%20b'],
    ['/tasks?x=eq.1\r\nHost: evil', 'tasks', 'x=eq.1%0D%0AHost:%20evil'],
    ['/tasks#x', 'tasks%23x', ''],
    ['/tasks\u0000', 'tasks%00', ''],
    ['http://evil.example/tasks', undefined, undefined],
    ['//evil.example/tasks', undefined, undefined],
    ['/../tasks', undefined, undefined],
    ['/$batch', undefined, undefined],
    ['/%24batch', undefined, undefined],
    ['', undefined, undefined],
    ['/', undefined, undefined],
    ['/?x', undefined, undefined],
  ] as const) {
    if (resource === undefined) t.throws(() => targetOf(path, '/rest/v1'), ToolRefusal, path)
    else t.strictSame(targetOf(path, '/rest/v1'), { resource, query }, path)
  }
  t.strictSame(targetOf('/rpc/a', '/'), { resource: 'rpc/a', query: '' })
})

t.test('limits', async (t) => {
  for (const [query, limited] of [
    ['', 'limit=11'],
    ['select=id', 'select=id&limit=11'],
    ['limit=3', 'limit=3'],
    ['limit=10', 'limit=10'],
    ['limit=11', 'limit=11'],
    ['limit=12&limit=500', 'limit=11'],
    ['limit=500&limit=2', 'limit=2'],
    ['limit=-1', 'limit=11'],
    ['limit=1e9', 'limit=11'],
    ['limit', 'limit=11'],
    ['%6cimit=500', 'limit=11'],
    ['tasks.limit=500&limit=0', 'tasks.limit=500&limit=0'],
    ['%=1', '%=1&limit=11'],
  ] as const) {
    t.equal(limitedQuery(query, 10), limited, query)
  }
  t.strictSame(without('a=1&b=2&&a&%61=3', ['a']), ['b=2'])
})

t.test('a long query takes linear time', async (t) => {
  const time = (pairs: number): number => {
    const query = 'limit=5&'.repeat(pairs)
    return cpuTime(() => t.equal(limitedQuery(query, 10), 'limit=5'))
  }
  time(1000)
  t.ok(time(50_000) < 2000)
})
