// Prisma's client over a connection to the database.
import assert from 'node:assert/strict'
import process from 'node:process'
import { PrismaPg } from '@prisma/adapter-pg'
import prismaClient from '@prisma/client'

const { fetch } = globalThis
const { DATABASE_URL, REST_URL, API_KEY, USER_ID, OTHER_ID } = process.env
const prisma = new prismaClient.PrismaClient({ adapter: new PrismaPg({ connectionString: DATABASE_URL }) })

const ada = await prisma.authors.create({
  data: {
    name: 'Ada of Prisma',
    posts: {
      create: {
        ...{ title: 'Prisma', status: 'published', rating: '9.5', views: 2n ** 60n },
        ...{ labels: ['a,b', '"c"'], details: { deep: [1, { x: null }] }, published_at: new Date(0) },
        post_tags: { create: { tags: { create: { name: 'of Prisma' } } } },
      },
    },
  },
  include: { posts: { include: { post_tags: { include: { tags: true } } } } },
})
const [post] = ada.posts
assert.equal(post.views, 2n ** 60n)
assert.equal(post.rating.toString(), '9.5')
assert.deepEqual(post.post_tags[0].tags.name, 'of Prisma')

// The REST API serves it at once.
const served = await fetch(`${REST_URL}/posts?id=eq.${post.id}&select=title,labels,details,authors(name),tags(name)`, {
  headers: { apikey: API_KEY },
})
assert.deepEqual(await served.json(), [
  {
    ...{ title: 'Prisma', labels: ['a,b', '"c"'], details: { deep: [1, { x: null }] } },
    ...{ authors: { name: 'Ada of Prisma' }, tags: [{ name: 'of Prisma' }] },
  },
])

const page = await prisma.posts.findMany({
  where: {
    title: { contains: 'POST 0', mode: 'insensitive' },
    status: 'published',
    authors: { name: { not: 'nobody' } },
  },
  orderBy: [{ rating: { sort: 'desc', nulls: 'last' } }, { id: 'asc' }],
  ...{ skip: 1, take: 2, select: { title: true } },
})
assert.equal(page.length, 2)
assert.ok((await prisma.posts.aggregate({ _count: true, _max: { rating: true } }))._count > 1)
assert.deepEqual(await prisma.$queryRaw`select public.add(${1}::integer, ${2}::integer) as sum`, [{ sum: 3 }])
await assert.rejects(prisma.authors.create({ data: { name: 'Ada of Prisma' } }), { code: 'P2002' })
await assert.rejects(
  prisma.$transaction([
    prisma.posts.update({ where: { id: post.id }, data: { title: 'Undone' } }),
    prisma.authors.create({ data: { name: 'Ada of Prisma' } }),
  ]),
)
assert.equal((await prisma.posts.findUnique({ where: { id: post.id } })).title, 'Prisma')

/** As a user of the REST API: the policies decide. */
const as = (id, run) =>
  prisma.$transaction(async (tx) => {
    const claims = JSON.stringify({ sub: id, role: 'authenticated' })
    await tx.$queryRaw`select set_config('request.jwt.claims', ${claims}, true), set_config('role', 'authenticated', true)`
    return run(tx)
  })
const todo = await as(USER_ID, (tx) => tx.todos.create({ data: { task: 'Of Ann, by Prisma' } }))
assert.equal(todo.owner, USER_ID)
assert.deepEqual(await as(OTHER_ID, (tx) => tx.todos.findMany()), [])
assert.equal(await as(USER_ID, (tx) => tx.todos.count({ where: { task: 'Of Ann, by Prisma' } })), 1)
await assert.rejects(as(OTHER_ID, (tx) => tx.todos.create({ data: { task: 'Of Ann, too', owner: USER_ID } })))
await prisma.authors.delete({ where: { id: ada.id } })
await prisma.$disconnect()
