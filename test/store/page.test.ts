import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'

import { readPage, type Page, type PageArguments } from '../../src/store/database/page.ts'
import { systemClock } from '../../src/util/clock.ts'
import { createIdSource } from '../../src/util/ids.ts'
import { createTestDatabase } from '../support/database.ts'

const ids = createIdSource(systemClock)

const database = await createTestDatabase()
afterAll(() => database.close())

/** A list of the test's own rows: tenants whose name begins with a prefix. */
let lists = 0
async function createList(size: number) {
  const prefix = `list ${lists++} `
  let count = 0
  const insert = async (id: string = ids.next()) => {
    await database.db
      .insertInto('tenants')
      .values({ id, name: `${prefix}${count++}`, created_at: new Date() })
      .execute()
    return id
  }
  const inserted: string[] = []
  for (let index = 0; index < size; index += 1) inserted.push(await insert())
  const read = (page: PageArguments, order: 'oldest first' | 'newest first' = 'oldest first'): Promise<Page<string>> =>
    readPage(database.db, database.db.selectFrom('tenants').selectAll().where('name', 'like', `${prefix}%`), page, {
      key: 'tenants.id',
      kind: 'uuid',
      order,
      keyOf: (row) => row.id,
      toNode: (row) => row.id,
    })
  return { ids: inserted, insert, read }
}

async function refusal(promise: Promise<unknown>) {
  return promise.then(
    () => 'no refusal',
    (error: unknown) => `${(error as { code: string }).code} ${(error as Error).message}`,
  )
}

describe('a page', () => {
  it('[PAGE1] has 50 items by default, and at most 200', async () => {
    const list = await createList(201)
    expect((await list.read({})).nodes).toEqual(list.ids.slice(0, 50))
    expect((await list.read({ first: 200 })).nodes).toEqual(list.ids.slice(0, 200))
    expect((await list.read({ last: 200 })).nodes).toEqual(list.ids.slice(-200))
    expect(await refusal(list.read({ first: 201 }))).toMatch(/BAD_USER_INPUT first: 201 .*0 to 200/)
    expect(await refusal(list.read({ last: -1 }))).toMatch(/BAD_USER_INPUT last: -1 .*0 to 200/)
    expect(await refusal(list.read({ first: 1, last: 1 }))).toMatch(/BAD_USER_INPUT last: /)
  })

  it('[PAGE2] says whether items precede or follow it, and has no cursors if it is empty', async () => {
    const list = await createList(5)
    expect(await list.read({ first: 0 })).toMatchObject({
      nodes: [],
      cursors: [],
      hasNextPage: true,
      hasPreviousPage: false,
    })
    const first = await list.read({ first: 2 })
    expect(first).toMatchObject({ hasNextPage: true, hasPreviousPage: false })
    const middle = await list.read({ first: 2, after: first.cursors[1]! })
    expect(middle).toMatchObject({ nodes: list.ids.slice(2, 4), hasNextPage: true, hasPreviousPage: true })
    const end = await list.read({ first: 2, after: middle.cursors[1]! })
    expect(end).toMatchObject({ nodes: list.ids.slice(4), hasNextPage: false, hasPreviousPage: true })
    const last = await list.read({ last: 2 })
    expect(last).toMatchObject({ nodes: list.ids.slice(3), hasNextPage: false, hasPreviousPage: true })
    const before = await list.read({ last: 3, before: last.cursors[0]! })
    expect(before).toMatchObject({ nodes: list.ids.slice(0, 3), hasNextPage: true, hasPreviousPage: false })
    const beyond = await list.read({ first: 2, after: end.cursors[0]! })
    expect(beyond).toMatchObject({ nodes: [], cursors: [], hasNextPage: false })
    const between = await list.read({ first: 10, after: first.cursors[0]!, before: last.cursors[1]! })
    expect(between.nodes).toEqual(list.ids.slice(1, 4))
  })

  it('[PAGE3] may list the newest first, with cursors that follow that order', async () => {
    const list = await createList(5)
    const newest = list.ids.toReversed()
    const first = await list.read({ first: 2 }, 'newest first')
    expect(first).toMatchObject({ nodes: newest.slice(0, 2), hasNextPage: true, hasPreviousPage: false })
    const rest = await list.read({ after: first.cursors[1]! }, 'newest first')
    expect(rest).toMatchObject({ nodes: newest.slice(2), hasNextPage: false, hasPreviousPage: true })
    const back = await list.read({ last: 1, before: rest.cursors[0]! }, 'newest first')
    expect(back).toMatchObject({ nodes: newest.slice(1, 2), hasNextPage: true, hasPreviousPage: true })
  })

  it('[PAGE4] refuses a cursor of another list before it reaches the database', async () => {
    const list = await createList(1)
    const id = list.ids[0]!
    const encoded = (text: string) => Buffer.from(text).toString('base64url')
    const foreign = [encoded('1'), encoded("tenants.id:' or 1=1 --"), encoded(`agents.id:${id}`)]
    for (const cursor of ['', 'nonsense', ...foreign, `${encoded(`tenants.id:${id}`)}=`]) {
      expect(await refusal(list.read({ after: cursor }))).toMatch(/^BAD_CURSOR after: /)
      expect(await refusal(list.read({ before: cursor }))).toMatch(/^BAD_CURSOR before: /)
    }
  })

  it('[PAGE5] is the same list from either end, whatever its size and the size of its pages', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom('oldest first' as const, 'newest first' as const),
        async (size, pageSize, order) => {
          const list = await createList(size)
          const expected = order === 'oldest first' ? list.ids : list.ids.toReversed()
          const forwards: string[] = []
          let page = await list.read({ first: pageSize }, order)
          forwards.push(...page.nodes)
          while (page.hasNextPage) {
            page = await list.read({ first: pageSize, after: page.cursors.at(-1)! }, order)
            forwards.push(...page.nodes)
          }
          const backwards: string[] = []
          page = await list.read({ last: pageSize }, order)
          backwards.unshift(...page.nodes)
          while (page.hasPreviousPage) {
            page = await list.read({ last: pageSize, before: page.cursors[0]! }, order)
            backwards.unshift(...page.nodes)
          }
          expect(forwards).toEqual(expected)
          expect(backwards).toEqual(expected)
        },
      ),
      { numRuns: 30 },
    )
  })

  it('[PAGE6] shows each row that exists throughout exactly once, whatever is inserted or deleted meanwhile', async () => {
    const step = fc.record({
      insert: fc.array(fc.constantFrom('end' as const, 'early' as const), { maxLength: 3 }),
      remove: fc.option(fc.nat({ max: 20 }), { nil: undefined }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 20 }),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        async (steps, pageSize, forwards) => {
          const early = Array.from({ length: 60 }, () => ids.next())
          const list = await createList(10)
          const removed = new Set<string>()
          const seen: string[] = []
          let cursor: string | undefined
          for (const { insert, remove } of steps) {
            const page = await list.read(
              forwards
                ? { first: pageSize, ...(cursor && { after: cursor }) }
                : { last: pageSize, ...(cursor && { before: cursor }) },
            )
            seen.push(...(forwards ? page.nodes : page.nodes.toReversed()))
            cursor = (forwards ? page.cursors.at(-1) : page.cursors[0]) ?? cursor
            if (!(forwards ? page.hasNextPage : page.hasPreviousPage)) break
            // Ids of several processes may be out of order: an earlier one may be inserted later.
            for (const where of insert) await list.insert(where === 'early' ? early.pop()! : ids.next())
            const victim = remove === undefined ? undefined : list.ids[remove % list.ids.length]!
            if (victim) {
              removed.add(victim)
              await database.db.deleteFrom('tenants').where('id', '=', victim).execute()
            }
          }
          expect(new Set(seen).size).toBe(seen.length)
          const sorted = seen.toSorted()
          expect(seen).toEqual(forwards ? sorted : sorted.toReversed())
          const stayed = list.ids.filter((id) => !removed.has(id))
          expect(seen.filter((id) => stayed.includes(id)).toSorted()).toEqual(stayed)
        },
      ),
      { numRuns: 20 },
    )
  })
})
