import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startGround, type Ground } from '../approvals/ground.ts'
import { captureLog } from '../support/captured-log.ts'

/** Texts from outside pass a gate, so the database refuses none. A trigger makes it refuse those with this word. */
const word = 'unspeakable'
const imageUrl = `data:image/png;base64,${Buffer.alloc(9_000).toString('base64')}`

const executions = new Map<string, number>()
const effect = (name: string, output: unknown) =>
  defineTool({
    name,
    description: 'Counts its calls.',
    parameters: { type: 'object' },
    idempotent: true,
    run() {
      executions.set(name, (executions.get(name) ?? 0) + 1)
      return output
    },
  })

let ground: Ground
const captured = captureLog()

beforeAll(async () => {
  const tools = [
    effect('word', word),
    effect('picture', { content: [{ imageUrl, name: `${word}.png` }] }),
    effect('fine', 'all good'),
  ]
  ground = await startGround({ tools, log: captured.log })
  await ground.app.database.pool.query(`
    create function refuse() returns trigger language plpgsql as $$
    begin
      if new::text like '%${word}%' then raise exception 'a fault' using errcode = '22P05'; end if;
      return new;
    end $$;
    create trigger refusing before insert or update on messages for each row execute function refuse();
    create trigger refusing before insert or update on tool_calls for each row execute function refuse();
    create trigger refusing before insert or update on steps for each row execute function refuse();
    create trigger refusing before insert or update on files for each row execute function refuse();
    create trigger refusing before insert or update on blocks for each row execute function refuse();`)
})
afterEach(() => ground.check())
afterAll(() => ground.app.stop())

const start = async (options: Record<string, unknown> = {}, text = 'go') => {
  const agent = await ground.talk.createAgent(options)
  return { agent, run: await ground.talk.start(agent, text) }
}

/** No worker has died, and the run was driven once. */
async function expectDrivenOnce(run: string) {
  const { rows } = await ground.app.database.pool.query('select deaths, attempts, lease from runs where id = $1', [
    run.slice('run_'.length),
  ])
  expect(rows).toEqual([{ deaths: 0, attempts: 1, lease: null }])
}

test('[ENG66] a result that the database refuses is an error of that call, and the tool is not run again', async () => {
  for (const name of ['word', 'picture']) {
    const { agent, run } = await start({ tools: [name, 'fine'] })
    await ground.call([name, {}], ['fine', {}])
    await ground.answer('done')
    expect(await ground.talk.settled(run)).toMatchObject({
      status: 'COMPLETED',
      answer: 'done',
      steps: [
        {
          toolCalls: [
            {
              status: 'FAILED',
              result: { output: 'The tool has run, but the server cannot store what it returned.' },
            },
            { status: 'SUCCEEDED', result: { output: 'all good' } },
          ],
        },
        {},
      ],
    })
    expect(executions.get(name)).toBe(1)
    await expectDrivenOnce(run)
    await ground.expectUsable(agent)
  }
  expect(captured.with('the database refuses a checkpoint').length).toBe(2)
  expect(captured.with('driving a run failed')).toEqual([])
})

test('[ENG66] a block that the database refuses is an error of the call that wrote it', async () => {
  const blocks = [{ label: 'human', value: word.replace('peak', 'poil') }]
  const { agent, run } = await start({ tools: ['memory_replace'], blocks })
  for (const new_string of ['peak', 'pok'])
    await ground.call(['memory_replace', { label: 'human', old_string: 'poil', new_string }])
  await ground.answer('done')
  const { steps } = await ground.talk.settled(run)
  expect(steps.map(({ toolCalls }: any) => toolCalls[0]?.status)).toEqual(['FAILED', 'SUCCEEDED', undefined])
  await expectDrivenOnce(run)
  await ground.expectUsable(agent)
})

test('[ENG66] an answer that the database refuses fails its run with a typed error, and the model is asked once', async () => {
  const { agent, run } = await start()
  await ground.answer(word)
  expect(await ground.talk.settled(run)).toMatchObject({
    status: 'FAILED',
    stopReason: 'ERROR',
    error: { type: 'INTERNAL_ERROR', message: "The database refuses to store the model's answer.", retryable: true },
    canRetry: true,
    usage: { totalTokens: 15 },
    messages: { nodes: [{ text: 'go', inContext: false }] },
  })
  await expectDrivenOnce(run)
  await ground.expectUsable(agent)
})

test('[ENG66] input that the database refuses fails its run, which a retry can continue', async () => {
  const { agent } = await start()
  // It waits, because a run that begins at once is not accepted if its input cannot be stored.
  const run = await ground.talk.start(agent, word, { whenBusy: 'ENQUEUE' })
  await ground.answer('first')
  expect(await ground.talk.settled(run)).toMatchObject({
    status: 'FAILED',
    error: { message: 'The run was given up: the database refuses to store its next step.' },
    messages: { nodes: [] },
  })
  await expectDrivenOnce(run)
  await ground.app.database.pool.query('alter table messages disable trigger refusing')
  await ground.app.data('mutation ($run: ID!) { retryRun(input: { runId: $run }) { __typename } }', { run })
  await ground.answer('heard')
  expect(await ground.talk.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'heard' })
  await ground.app.database.pool.query('alter table messages enable trigger refusing')
  await ground.expectUsable(agent)
})

test('[ENG66] an error that the database refuses is replaced by one that it does not refuse', async () => {
  const { agent, run } = await start()
  ;(await ground.model.nextCall()).fail({ message: word, retryable: false })
  expect(await ground.talk.settled(run)).toMatchObject({
    status: 'FAILED',
    error: { type: 'INTERNAL_ERROR', message: 'The run was given up: the database refuses to store its next step.' },
  })
  await expectDrivenOnce(run)
  await ground.expectUsable(agent)
})

test('[ENG66] a run is cancelled even if the database refuses what its model had written', async () => {
  const { agent, run } = await start()
  const watch = ground.talk.watch(run)
  ;(await ground.model.nextCall()).say(word)
  await watch.until((line) => line.includes(word))
  await ground.talk.cancel({ runId: run })
  expect(await ground.talk.settled(run)).toMatchObject({ status: 'CANCELLED', error: null })
  await watch.ended
  await expectDrivenOnce(run)
  await ground.expectUsable(agent)
})
