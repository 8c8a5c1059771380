// drizzle-orm over a connection to the database, with tables that drizzle-kit has read from it.
import assert from 'node:assert/strict'
import process from 'node:process'
import { readdir, readFile } from 'node:fs/promises'
import { and, count, desc, eq, gt, relations, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { bigint, boolean, integer, jsonb, numeric, pgEnum, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'
import pg from 'pg'

const { fetch } = globalThis
const { DATABASE_URL, PULLED, REST_URL, API_KEY, USER_ID, OTHER_ID } = process.env

const status = pgEnum('post_status', ['draft', 'published'])
const authors = pgTable('authors', {
  id: integer().primaryKey().generatedByDefaultAsIdentity(),
  name: text().notNull(),
})
const posts = pgTable('posts', {
  id: integer().primaryKey().generatedByDefaultAsIdentity(),
  authorId: integer('author_id').notNull(),
  title: text().notNull(),
  status: status().notNull().default('draft'),
  rating: numeric({ precision: 3, scale: 1 }),
  views: bigint({ mode: 'bigint' }).notNull().default(0n),
  labels: text().array().notNull().default([]),
  details: jsonb().notNull().default({}),
  publishedAt: timestamp('published_at', { withTimezone: true }),
})
const todos = pgTable('todos', {
  id: uuid().primaryKey().defaultRandom(),
  owner: uuid().default(sql`auth.uid()`),
  task: text().notNull(),
  done: boolean().notNull().default(false),
})
const authorsRelations = relations(authors, ({ many }) => ({ posts: many(posts) }))
const postsRelations = relations(posts, ({ one }) => ({
  author: one(authors, { fields: [posts.authorId], references: [authors.id] }),
}))

const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 4 })
const db = drizzle(pool, { schema: { authors, posts, todos, authorsRelations, postsRelations } })

// What drizzle-kit has written.
const schemaFile = (await readdir(PULLED)).find((name) => name === 'schema.ts')
const pulled = await readFile(`${PULLED}/${schemaFile}`, 'utf8')
for (const part of ['pgTable("posts"', 'pgEnum("post_status"', 'pgPolicy("own to-dos"', 'pgView("post_summaries"']) {
  assert.ok(pulled.includes(part), `${part} in\n${pulled}`)
}

const [ada] = await db.insert(authors).values({ name: 'Ada of Drizzle' }).returning()
const [post] = await db
  .insert(posts)
  .values({
    ...{ authorId: ada.id, title: 'Drizzle', status: 'published', rating: '9.5', views: 2n ** 60n },
    ...{ labels: ['a,b', '"c"'], details: { deep: [1, { x: null }] }, publishedAt: new Date(0) },
  })
  .returning()
assert.equal(post.views, 2n ** 60n)
assert.deepEqual(post.labels, ['a,b', '"c"'])

// The REST API serves it at once.
const served = await fetch(`${REST_URL}/posts?id=eq.${post.id}&select=title,labels,details,authors(name)`, {
  headers: { apikey: API_KEY },
})
assert.deepEqual(await served.json(), [
  {
    title: 'Drizzle',
    labels: ['a,b', '"c"'],
    details: { deep: [1, { x: null }] },
    authors: { name: 'Ada of Drizzle' },
  },
])

const found = await db.query.authors.findFirst({ where: eq(authors.id, ada.id), with: { posts: true } })
assert.deepEqual(found.posts, [post])
const [{ total }] = await db.select({ total: count() }).from(posts).where(gt(posts.rating, '9'))
assert.ok(total > 0)
const named = db
  .select({ title: posts.title, name: authors.name })
  .from(posts)
  .innerJoin(authors, eq(authors.id, posts.authorId))
  .where(and(eq(authors.id, sql.placeholder('author')), eq(posts.status, 'published')))
  .orderBy(desc(posts.id))
  .prepare('published_of')
assert.deepEqual(await named.execute({ author: ada.id }), [{ title: 'Drizzle', name: 'Ada of Drizzle' }])
await assert.rejects(
  db.transaction(async (tx) => {
    await tx.update(posts).set({ title: 'Undone' }).where(eq(posts.id, post.id))
    await tx.insert(authors).values({ name: 'Ada of Drizzle' })
  }),
)
assert.equal((await db.select().from(posts).where(eq(posts.id, post.id)))[0].title, 'Drizzle')

/** As a user of the REST API: the policies decide. */
const as = (id, run) =>
  db.transaction(async (tx) => {
    const claims = JSON.stringify({ sub: id, role: 'authenticated' })
    await tx.execute(
      sql`select set_config('request.jwt.claims', ${claims}, true), set_config('role', 'authenticated', true)`,
    )
    return run(tx)
  })
const [todo] = await as(USER_ID, (tx) => tx.insert(todos).values({ task: 'Of Ann' }).returning())
assert.equal(todo.owner, USER_ID)
assert.deepEqual(await as(OTHER_ID, (tx) => tx.select().from(todos)), [])
assert.equal((await as(USER_ID, (tx) => tx.select().from(todos))).length, 1)
await assert.rejects(
  as(OTHER_ID, (tx) => tx.insert(todos).values({ task: 'Of Ann, too', owner: USER_ID })),
  (error) => /row-level security/.test(String(error.cause ?? error)),
)
assert.equal((await db.delete(authors).where(eq(authors.id, ada.id))).rowCount, 1)
await pool.end()
