import t from 'tap'
import { exemptFromShedding } from '../../../server/running/overload/load-shedding.ts'

t.test('what tells about the server is served when it is overloaded', (t) => {
  const isExempt = exemptFromShedding('/images')
  for (const target of ['/', '/health', '/ready', '/ready/', '/ready?x=1', '/openapi.json', '/docs', '/docs/a.js']) {
    t.ok(isExempt(target), target)
  }
  for (const target of ['/images/health', '/images/ready', '/images/ready?x=1']) t.ok(isExempt(target), target)
  for (const target of ['/images', '/images/predict', '/images/ready/x', '/docsx', '/Ready', '//ready', '/report']) {
    t.notOk(isExempt(target), target)
  }
  t.end()
})

t.test('no other route is served by a target that looks like one of these', (t) => {
  const isExempt = exemptFromShedding('/images')
  for (const target of [
    '/images/ready/../predict',
    '/images/ready/predict',
    '/images/ready%2F..%2Fpredict',
    '/images/predict/ready',
    '/images//ready',
    '/images/ready;x',
    '/IMAGES/ready',
    '/rest/v1/ready',
    '/report?x=/images/ready',
    '/report#/images/ready',
    'http://localhost/images/ready',
  ]) {
    t.notOk(isExempt(target), target)
  }
  t.end()
})

t.test('without the image analysis, or with it at the root', (t) => {
  t.notOk(exemptFromShedding(undefined)('/images/ready'))
  t.notOk(exemptFromShedding(undefined)('undefined/ready'))
  t.ok(exemptFromShedding('')('/ready'))
  t.notOk(exemptFromShedding('')('/predict'))
  t.end()
})
