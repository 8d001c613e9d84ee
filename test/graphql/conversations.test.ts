import { afterAll, describe, expect, it } from 'vitest'

import { createGround } from '../support/execute.ts'

const ground = await createGround()
afterAll(() => ground.close())

const fields = 'id title metadata createdAt updatedAt agent { id }'
const create = `mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { ${fields} } } }`
const update = `mutation ($input: UpdateConversationInput!) { updateConversation(input: $input) { conversation { ${fields} } } }`
const remove = 'mutation ($input: DeleteConversationInput!) { deleteConversation(input: $input) { deletedId } }'

async function createAgent() {
  const data = await ground.run(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id mainConversation { id } } } }',
    { input: { name: 'an agent', model: 'demo/scripted' } },
  )
  return data.createAgent.agent as { id: string; mainConversation: { id: string } }
}

describe('conversations', () => {
  it('[CNV1] are created, listed oldest first, changed and deleted', async () => {
    const agent = await createAgent()
    const { createConversation: bare } = await ground.run(create, { input: { agentId: agent.id } })
    expect(bare.conversation).toMatchObject({ title: null, metadata: {}, agent: { id: agent.id } })
    const { createConversation: made } = await ground.run(create, {
      input: { agentId: agent.id, title: 'Trip', metadata: { a: 1 } },
    })
    const { id } = made.conversation
    const list =
      'query ($id: ID!, $first: Int, $after: String) { agent(id: $id) { conversations(first: $first, after: $after) { nodes { id } pageInfo { endCursor hasNextPage } } } }'
    const first = (await ground.run(list, { id: agent.id, first: 2 })).agent.conversations
    expect(first.nodes).toEqual([{ id: agent.mainConversation.id }, { id: bare.conversation.id }])
    const rest = (await ground.run(list, { id: agent.id, after: first.pageInfo.endCursor })).agent.conversations
    expect([rest.nodes, rest.pageInfo.hasNextPage]).toEqual([[{ id }], false])

    const change = async (input: Record<string, unknown>) =>
      (await ground.run(update, { input: { id, ...input } })).updateConversation.conversation
    expect(await change({})).toMatchObject({ title: 'Trip', metadata: { a: 1 } })
    expect(await change({ title: 'Travel' })).toMatchObject({ title: 'Travel', metadata: { a: 1 } })
    expect(await change({ title: null, metadata: null })).toMatchObject({ title: null, metadata: {} })

    expect(await ground.run(remove, { input: { id } })).toEqual({ deleteConversation: { deletedId: id } })
    expect(await ground.run('query ($id: ID!) { conversation(id: $id) { id } }', { id })).toEqual({
      conversation: null,
    })
    for (const document of [update, remove])
      expect(await ground.refusal(document, { id })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await ground.refusal(create, { agentId: id })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await ground.refusal(create, { agentId: agent.id, title: 'x'.repeat(501) })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'input.title',
    })
    expect(await ground.refusal(create, { agentId: agent.id, metadata: 1 })).toMatchObject({ field: 'input.metadata' })
  })

  it('[CNV2] of which the main one cannot be deleted without its agent', async () => {
    const agent = await createAgent()
    const error = await ground.refusal(remove, { id: agent.mainConversation.id })
    expect(error).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.id' })
    expect(error.message).toMatch(/Delete the agent, or .*createConversation/)
  })
})

describe('deleting what a run holds', () => {
  /** A conversation with a run that a worker drives. */
  async function createBusyConversation() {
    const agent = await createAgent()
    const { createConversation } = await ground.run(create, { input: { agentId: agent.id } })
    const uuid = (id: string) => id.replace(/^[a-z]+_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    const now = new Date()
    const runId = ground.context.ids.next()
    const conversationId = uuid(createConversation.conversation.id)
    await ground.db
      .insertInto('runs')
      .values({
        id: runId,
        tenant_id: ground.viewer.tenantId,
        agent_id: uuid(agent.id),
        conversation_id: conversationId,
        number: 1,
        kind: 'TURN',
        urgent: false,
        max_steps: 50,
        created_at: now,
        request: JSON.stringify({ messages: [], clientTools: [] }),
        metadata: '{}',
        status: 'RUNNING',
        next_seq: 1,
        updated_at: now,
      })
      .execute()
    await ground.db
      .updateTable('conversations')
      .set({ active_run_id: runId })
      .where('id', '=', conversationId)
      .execute()
    return { agent, id: createConversation.conversation.id as string, conversationId, runId }
  }

  it.each(['conversation', 'agent'] as const)(
    '[AGT13] deleting a busy %s waits for a checkpoint in progress, and wakes its driver and watchers',
    async (what) => {
      const busy = await createBusyConversation()
      const told: string[] = []
      ground.context.hub.onStopRequest(busy.runId, () => told.push('stop'))
      ground.context.hub.listen(busy.runId, (wakeUp) => told.push(wakeUp))

      let deleting: Promise<unknown> | undefined
      await ground.db.transaction().execute(async (trx) => {
        // Like a worker's checkpoint: it locks the run, and then the conversation through the foreign key.
        await trx.updateTable('runs').set({ next_seq: 2 }).where('id', '=', busy.runId).execute()
        deleting =
          what === 'agent'
            ? ground.run('mutation ($input: DeleteAgentInput!) { deleteAgent(input: $input) { deletedId } }', {
                input: { id: busy.agent.id },
              })
            : ground.run(remove, { input: { id: busy.id } })
        await untilSomeoneWaits()
        await trx
          .insertInto('messages')
          .values({
            id: ground.context.ids.next(),
            conversation_id: busy.conversationId,
            position: 1,
            run_hold: 1,
            type: 'USER',
            created_at: new Date(),
            content: '{}',
          })
          .execute()
      })
      await deleting
      expect(told).toEqual(['stop', 'stored'])
      const left = await ground.db.selectFrom('runs').select('id').where('id', '=', busy.runId).execute()
      expect(left).toEqual([])
    },
  )

  async function untilSomeoneWaits() {
    for (;;) {
      const { rows } = await ground.pool.query(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      )
      if (rows.length > 0) return
    }
  }
})
