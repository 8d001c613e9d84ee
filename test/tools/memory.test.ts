import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { editMemory, type MemoryCall } from '../../src/domain/memory/memory-edit.ts'
import type { Block } from '../../src/domain/memory/block.ts'
import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { placesOf } from '../../src/util/places-of.ts'
import { startGround, type Ground } from '../approvals/ground.ts'
import { createTestDatabase } from '../support/database.ts'
import { watchThread } from '../support/blocked.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { approve, type Talk } from '../support/talk.ts'

describe('an edit', () => {
  const block = (given: Partial<Block> = {}): Block => ({
    id: 'block',
    tenantId: 'tenant',
    label: 'human',
    value: 'one\ntwo\nthree',
    description: null,
    charLimit: 100,
    version: 3,
    conversationId: null,
    readOnly: false,
    createdAt: new Date(0),
    updatedAt: new Date(0),
    ...given,
  })
  const edit = (name: MemoryCall['name'], args: MemoryCall['args'], given: Partial<Block> = {}, asSeen = true) => {
    const blocks = [block(given), block({ id: 'other', label: 'rules', readOnly: true })]
    const result = editMemory({ name, args: { label: 'human', ...args }, blocks, isAsSeen: () => asSeen })
    return result.ok ? (result.write?.value ?? result.output) : result.output
  }

  test('[MEM1] memory_insert inserts lines at the given place, by default at the end', () => {
    expect(edit('memory_insert', { new_string: 'four' })).toBe('one\ntwo\nthree\nfour')
    expect(edit('memory_insert', { new_string: 'zero', insert_line: 0 })).toBe('zero\none\ntwo\nthree')
    expect(edit('memory_insert', { new_string: 'a\nb', insert_line: 2 })).toBe('one\ntwo\na\nb\nthree')
    expect(edit('memory_insert', { new_string: 'first' }, { value: '' })).toBe('first')
    expect(edit('memory_insert', { new_string: 'x', insert_line: 4 })).toMatch(
      /has 3 lines\. insert_line takes .* 0 to 3/,
    )
  })

  test('[MEM2] memory_replace replaces text that occurs exactly once', () => {
    expect(edit('memory_replace', { old_string: 'two', new_string: '$& $1' })).toBe('one\n$& $1\nthree')
    expect(edit('memory_replace', { old_string: 'two\n', new_string: '' })).toBe('one\nthree')
    expect(edit('memory_replace', { old_string: 'Two', new_string: 'x' })).toMatch(/does not occur/)
    expect(edit('memory_replace', { old_string: 'a', new_string: 'x' }, { value: 'a\nb\na' })).toMatch(
      /occurs 2 times in the memory block human, in the lines 1, 3/,
    )
    expect(edit('memory_replace', { old_string: 'aa', new_string: 'x' }, { value: 'aaa' })).toMatch(/occurs 2 times/)
  })

  test('[MEM2] a text is looked for in time that is in proportion to its length and that of the block', () => {
    const half = 'a'.repeat(50_000)
    const watch = watchThread()
    const args = { old_string: `${half}b${half}`, new_string: 'x' }
    expect(edit('memory_replace', args, { value: 'a'.repeat(1_000_000) })).toMatch(/does not occur/)
    expect(watch.stop()).toBeLessThan(100)
    // Compared with a search that is certainly right.
    for (let n = 0; n < 3_000; n += 1) {
      const random = (length: number) => Array.from({ length }, () => 'ab'[Math.floor(Math.random() * 2)]).join('')
      const [text, part] = [random(n % 30), random(1 + (n % 4))]
      const places = Array.from({ length: text.length }, (_, at) => at).flatMap((at) =>
        text.startsWith(part, at) ? [at] : [],
      )
      expect(placesOf(text, part, 100), `${part} in ${text}`).toEqual(places)
    }
  })

  test('[MEM2] of a text that occurs half a million times, the first places are told, and soon', () => {
    const watch = watchThread()
    const told = edit('memory_replace', { old_string: 'a', new_string: 'x' }, { value: 'a\n'.repeat(500_000) })
    expect(watch.stop()).toBeLessThan(100)
    expect(told).toMatch(/occurs more than 20 times .* in the lines 1, 2, .*, 20 and others, and nothing was changed/)
  })

  test('[MEM3] memory_rethink replaces the whole block, unless it has changed since the model saw it', () => {
    expect(edit('memory_rethink', { new_memory: 'all new' })).toBe('all new')
    expect(edit('memory_rethink', { new_memory: 'all new' }, {}, false)).toMatch(
      /was changed by someone else meanwhile, and nothing was written\. It now holds:\none\ntwo\nthree$/,
    )
    expect(edit('memory_finish_edits', {})).toBe('The edits are finished.')
  })

  test('[MEM4] limits, read-only blocks and unknown labels are refused with what would be accepted', () => {
    expect(edit('memory_rethink', { new_memory: '👍'.repeat(100) })).toBe('👍'.repeat(100))
    expect(edit('memory_rethink', { new_memory: 'x'.repeat(120) })).toMatch(
      /120 characters, and at most 100 .* leave out 20/,
    )
    expect(edit('memory_insert', { label: 'rules', new_string: 'x' })).toBe(
      'The memory block rules is read-only. Blocks that can be edited: human.',
    )
    expect(edit('memory_insert', { label: 'nobody', new_string: 'x' })).toBe(
      'There is no memory block labelled "nobody". Blocks that can be edited: human.',
    )
  })
})

describe('memory in a run', () => {
  let ground: Ground
  let talk: Talk
  let database: OpenDatabase
  /** Called once, before the statement that stores the edit. */
  let meanwhile: (() => Promise<void>) | undefined

  beforeAll(async () => {
    database = await createTestDatabase()
    const db = hookDatabase(database.pool, {
      async before(statement) {
        const act = statement.includes('update blocks set value = given.value') ? meanwhile : undefined
        if (act) meanwhile = undefined
        await act?.()
      },
    })
    ground = await startGround({ database: { ...database, db } })
    talk = ground.talk
  })
  afterEach(() => ground.check())
  afterAll(async () => {
    await ground.app.stop()
    await database.close()
  })

  const tools = ['memory_insert', 'memory_replace', 'memory_rethink', 'memory_finish_edits']
  const agentWith = (value: string, more: object = {}) =>
    talk.createAgent({ tools, blocks: [{ label: 'human', value }], ...more })
  const blocksOf = async (agent: string) =>
    (await ground.app.data('query ($id: ID!) { agent(id: $id) { blocks { id value version } } }', { id: agent })).agent
      .blocks
  const setBlock = (id: string, value: string) =>
    ground.app.data('mutation ($input: UpdateBlockInput!) { updateBlock(input: $input) { __typename } }', {
      input: { id, value },
    })
  const outputs = (run: any) =>
    run.steps.flatMap((step: any) => step.toolCalls.map((call: any) => [call.status, call.result.output]))

  test('[MEM5] the next step sees what a step wrote, and calls of one step build on each other', async () => {
    const agent = await agentWith('Ada')
    const runId = await talk.start(agent, 'go')
    await ground.call(
      ['memory_insert', { label: 'human', new_string: 'likes tea' }],
      ['memory_replace', { label: 'human', old_string: 'tea', new_string: 'coffee' }],
    )
    const next = await ground.answer('done')
    expect(next.request.systemPrompt).toContain('Ada\nlikes coffee')
    expect(outputs(await talk.settled(runId))).toEqual([
      ['SUCCEEDED', 'The memory block human was edited. It has 13 of 20000 characters.'],
      ['SUCCEEDED', 'The memory block human was edited. It has 16 of 20000 characters.'],
    ])
    expect(await blocksOf(agent)).toMatchObject([{ value: 'Ada\nlikes coffee', version: 3 }])
  })

  test('[MEM6] of two concurrent edits, the second is applied to the result of the first; none is lost', async () => {
    const agent = await agentWith('Ada')
    const [{ id }] = await blocksOf(agent)
    const runId = await talk.start(agent, 'go')
    meanwhile = async () => void (await setBlock(id, 'Ada\nby hand'))
    await ground.call(['memory_insert', { label: 'human', new_string: 'by tool' }])
    await ground.answer('done')
    await talk.settled(runId)
    expect(meanwhile).toBeUndefined()
    expect(await blocksOf(agent)).toMatchObject([{ value: 'Ada\nby hand\nby tool', version: 3 }])
  })

  test('[MEM7] an edit that someone made after the model saw the block is not overwritten, whoever drives the run', async () => {
    const agent = await agentWith('Ada', { toolRules: [{ kind: 'REQUIRES_APPROVAL', tool: 'memory_rethink' }] })
    const [{ id }] = await blocksOf(agent)
    const runId = await talk.start(agent, 'go')
    await ground.call(['memory_rethink', { label: 'human', new_memory: 'Grace' }])
    const [call] = await talk.pending(runId)
    await setBlock(id, 'Ada, a countess')
    await talk.submit(runId, [approve(call)])
    const next = await ground.call(['memory_rethink', { label: 'human', new_memory: 'Ada, a countess. Grace.' }])
    expect(next.request.messages.at(-1)).toMatchObject({
      returns: [{ failed: true, output: expect.stringContaining('It now holds:\nAda, a countess') }],
    })
    await talk.submit(runId, [approve((await talk.pending(runId))[0])])
    await ground.answer('done')
    await talk.settled(runId)
    expect(await blocksOf(agent)).toMatchObject([{ value: 'Ada, a countess. Grace.' }])
  })

  test('[MEM4] a block that became read-only since the tool read it is not written', async () => {
    const agent = await agentWith('Ada')
    const [{ id }] = await blocksOf(agent)
    const runId = await talk.start(agent, 'go')
    meanwhile = async () => {
      await ground.app.data('mutation ($input: UpdateBlockInput!) { updateBlock(input: $input) { __typename } }', {
        input: { id, readOnly: true },
      })
    }
    await ground.call(['memory_insert', { label: 'human', new_string: 'too late' }])
    await ground.answer('done')
    expect(outputs(await talk.settled(runId))).toEqual([['FAILED', expect.stringContaining('read-only')]])
    expect(await blocksOf(agent)).toMatchObject([{ value: 'Ada', version: 1 }])
  })

  test('[MEM8] a worker that has lost its run writes nothing', async () => {
    const agent = await agentWith('Ada')
    const runId = await talk.start(agent, 'go')
    meanwhile = async () => {
      await database.pool.query(
        "update runs set lease = gen_random_uuid() where status = 'RUNNING' and lease is not null",
      )
    }
    await ground.call(['memory_insert', { label: 'human', new_string: 'by a worker that lost it' }])
    await expect.poll(() => meanwhile).toBeUndefined()
    await database.pool.query("update runs set lease = null, worker_id = null where status = 'RUNNING'")
    // The next worker makes the edit, once.
    await ground.answer('done')
    expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED', attempts: 2 })
    expect(await blocksOf(agent)).toMatchObject([{ value: 'Ada\nby a worker that lost it', version: 2 }])
  })
})

describe('conversation_search', () => {
  let ground: Ground
  let talk: Talk
  let agent: string
  beforeAll(async () => {
    ground = await startGround()
    talk = ground.talk
    agent = await talk.createAgent({ tools: ['conversation_search'], timezone: 'Europe/Berlin' })
    for (const [said, answered] of [
      ['My dog is called Waldemar.', 'What a fine name for a dog.'],
      ['I moved to Göttingen in spring.', 'How do you like it there?'],
      ['dogs, dogs, dogs everywhere', 'Indeed.'],
    ] as const) {
      const runId = await talk.start(agent, said)
      await ground.answer(answered)
      await talk.settled(runId)
    }
    const days = ['2026-01-01T10:00:00Z', '2026-02-01T10:00:00Z', '2026-03-01T23:30:00Z']
    for (const [index, day] of days.entries()) {
      await ground.app.database.pool.query('update messages set created_at = $1 where run_hold = $2', [day, index + 1])
    }
  })
  afterEach(() => ground.check())
  afterAll(() => ground.app.stop())

  /** The texts that were found. */
  async function search(args: object): Promise<string[]> {
    const runId = await talk.start(agent, 'look for Waldemar, Göttingen and dogs')
    await ground.call(['conversation_search', args])
    await ground.answer('found')
    const run = await talk.settled(runId)
    await ground.app.database.pool.query("update messages set created_at = '2026-06-01' where run_hold > 3")
    const { output } = run.steps[0].toolCalls[0].result
    return output.startsWith('[') ? JSON.parse(output).map((message: any) => message.text) : [output]
  }

  test('[SEA1] finds messages by their words, best match first, without the current turn', async () => {
    expect(await search({ query: 'waldemar', end_date: '2026-05-01' })).toEqual(['My dog is called Waldemar.'])
    expect(await search({ query: 'göttingen SPRING', end_date: '2026-05-01' })).toEqual([
      'I moved to Göttingen in spring.',
    ])
    expect(await search({ query: 'dog', end_date: '2026-05-01' })).toEqual([
      'What a fine name for a dog.',
      'My dog is called Waldemar.',
    ])
  })

  test('[SEA2] if no message has all the words, messages with some of them, or with words that begin like them, are found', async () => {
    const found = await search({ query: 'where does the walde family live', end_date: '2026-05-01' })
    expect(found).toContain('My dog is called Waldemar.')
    expect(await search({ query: 'xylophone' })).toEqual(['No message was found.'])
    for (const query of ["'; drop table messages --", ':* & | !', '"', "o'neil & (", '\\', '-'.repeat(100)])
      expect(await search({ query, end_date: '2026-05-01' })).toEqual(['No message was found.'])
  })

  test('[SEA3] by role and by date, in the agent’s time zone, with a limit, newest first without words', async () => {
    expect(await search({ roles: ['assistant'], end_date: '2026-05-01', limit: 2 })).toEqual([
      'Indeed.',
      'How do you like it there?',
    ])
    expect(await search({ query: 'dogs', start_date: '2026-03-02', end_date: '2026-03-02' })).toEqual([
      'dogs, dogs, dogs everywhere',
    ])
    expect(await search({ query: 'dogs', end_date: '2026-03-01' })).not.toContain('dogs, dogs, dogs everywhere')
    expect(
      await search({ query: 'dogs', start_date: '2026-03-01T23:00:00Z', end_date: '2026-03-01T23:30:00Z' }),
    ).toEqual(['dogs, dogs, dogs everywhere'])
    expect(await search({ start_date: 'last week' })).toEqual([expect.stringMatching(/^start_date takes a day/)])
  })

  test('[SEA5] of a long message the first 2,000 characters are shown', async () => {
    const runId = await talk.start(agent, `labyrinth ${'x'.repeat(3_000)}`)
    await ground.answer('Indeed.')
    await talk.settled(runId)
    const [text] = await search({ query: 'labyrinth' })
    expect(text).toBe(`labyrinth ${'x'.repeat(1_990)} …`)
  })

  test('[SEA80] finds a message by the name of its file, whole or by a word', async () => {
    const { agent: shown } = await ground.app.data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', {
      id: agent,
    })
    const { uploadFile } = await ground.app.data(
      'mutation ($input: UploadFileInput!) { uploadFile(input: $input) { file { id } } }',
      {
        input: {
          conversationId: shown.mainConversation.id,
          dataUrl: `data:application/pdf;base64,${Buffer.from('%PDF-1.7').toString('base64')}`,
          name: 'Rechnung-Müller_2026.pdf',
        },
      },
    )
    const runId = await talk.start(agent, '', { messages: [{ content: [{ fileId: uploadFile.file.id }] }] })
    await ground.answer('Thanks.')
    await talk.settled(runId)
    const found = ['[document "Rechnung-Müller_2026.pdf"]']
    for (const query of ['rechnung-müller_2026.pdf', 'müller', '2026 rechnung', 'rech'])
      expect(await search({ query })).toEqual(found)
  })

  test('[SEA4] uses the index, and a message that is longer than a tsvector can still be stored', async () => {
    const { pool } = ground.app.database
    const client = await pool.connect()
    try {
      await client.query('begin; set local enable_seqscan = off')
      const { rows } = await client.query(
        `explain select 1 from messages where type in ('USER', 'ASSISTANT', 'SYSTEM', 'SUMMARY')
         and message_words(conversation_id, content) @@ websearch_to_tsquery('simple', 'dog')`,
      )
      expect(JSON.stringify(rows)).toContain('messages_words')
    } finally {
      await client.query('rollback')
      client.release()
    }
    const text = Array.from({ length: 300_000 }, (_, index) => `w${index}`).join(' ')
    const { rowCount } = await pool.query(
      "update messages set content = jsonb_build_object('text', $1::text) where type = 'ASSISTANT' and run_hold = 3",
      [text],
    )
    expect(rowCount).toBe(1)
  })

  test('[SEA6] the words of every kind of message are the same, whichever way they are found', async () => {
    const image = { image: { name: 'a-cat.png', id: 'x' } }
    const contents = [
      { text: 'A cat, a dog', provider: null, interrupted: false },
      { text: '' },
      { content: [{ text: 'One dog' }] },
      { content: [{ text: 'One dog' }, { text: 'two cats' }] },
      { content: [image] },
      { content: [image, { text: 'What is it?' }] },
      { content: [{ imageUrl: 'https://example.com/cat.png' }] },
      { content: [] },
      { text: `${'é'.repeat(99_997)} cut off` },
    ]
    const { rows } = await ground.app.database.pool.query<{ words: string; all: string }>(
      `select message_words(id, content)::text as words, words_of_parts(id, content)::text as all
       from jsonb_array_elements($1::jsonb) content, gen_random_uuid() id`,
      [JSON.stringify(contents)],
    )
    expect(rows).toHaveLength(contents.length)
    for (const { words, all } of rows) expect(words).toBe(all)
    expect(rows[2]!.words).toContain("'dog'")
  })
})
