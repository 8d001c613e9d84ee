import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'

import { encodeId } from '../../src/domain/ids.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { createExecutor } from '../support/run-executor.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

/** Adds 1,000 rows like the one with this id. `changes` is a JSON object in SQL, made from the number `n`. */
async function repeat(table: 'agents' | 'runs' | 'api_keys', id: string, changes: string): Promise<string[]> {
  const { rows: stored } = await sql<{ name: string }>`
    select attname as name from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`.execute(ground.db)
  const columns = stored.map(({ name }) => name)
  const { rows } = await sql<{ id: string }>`
    insert into ${sql.table(table)} (${sql.join(columns.map((name) => sql.ref(name)))})
    select ${sql.join(columns.map((name) => sql.ref(`copy.${name}`)))}
    from ${sql.table(table)} original cross join generate_series(1, 1000) n cross join lateral
      jsonb_populate_record(original, jsonb_build_object('id', gen_random_uuid()) || ${sql.raw(changes)}) copy
    where original.id = ${id} returning id`.execute(ground.db)
  return rows.map((row) => row.id)
}

describe('lists without pages', () => {
  it('[PAGE7] `Block.agents` has the 1,000 oldest agents', async () => {
    const tenantId = await make.tenant('agents of a block')
    const api = createExecutor(ground, tenantId)
    const agent = await make.agent({ tenant_id: tenantId })
    const input = 'input: { label: "shared", value: "" }'
    const { id } = (await api.data(`mutation { createBlock(${input}) { block { id } } }`)).createBlock.block
    const agentIds = [
      agent.id,
      ...(await repeat('agents', agent.id, `jsonb_build_object('tags', jsonb_build_array(n::text))`)),
    ]
    await sql`insert into agent_blocks (agent_id, block_id)
      select agent_id, (select id from blocks where tenant_id = ${tenantId})
      from unnest(${agentIds}::uuid[]) agent_id`.execute(ground.db)

    const { agents } = (await api.data(`{ block(id: "${id}") { agents { id } } }`)).block
    const oldest = agentIds.toSorted().slice(0, 1000)
    expect(agents.map((one: { id: string }) => one.id)).toEqual(oldest.map((one) => encodeId('Agent', one)))
  })

  it('[PAGE7] `Conversation.queue` has the 1,000 runs that start first', async () => {
    const tenantId = await make.tenant('a long queue')
    const api = createExecutor(ground, tenantId)
    const agent = await make.agent({ tenant_id: tenantId })
    const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id })
    const last = await make.run(conversation, { status: 'QUEUED', number: 5000 })
    const others = await repeat('runs', last.id, `jsonb_build_object('number', n)`)

    const query = `{ conversation(id: "${encodeId('Conversation', conversation.id)}") { queue { id } } }`
    const { queue } = (await api.data(query)).conversation
    expect(queue).toHaveLength(1000)
    const shown = new Set(queue.map((run: { id: string }) => run.id))
    expect(others.every((id) => shown.has(encodeId('Run', id)))).toBe(true)
  })

  it('[PAGE7] `Run.versions` has the 1,000 newest, and the run itself', async () => {
    const tenantId = await make.tenant('many versions')
    const api = createExecutor(ground, tenantId)
    const agent = await make.agent({ tenant_id: tenantId })
    const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id })
    const first = await make.run(conversation, { status: 'COMPLETED', number: 1, hold: 1, previous_hold: 0 })
    const others = await repeat(
      'runs',
      first.id,
      `jsonb_build_object('number', n + 1, 'hold', n + 1, 'previous_hold', 0)`,
    )

    const all = [first.id, ...others].toSorted().map((id) => encodeId('Run', id))
    const versions = async (id: string): Promise<string[]> =>
      (await api.data(`{ run(id: "${id}") { versions { id } } }`)).run.versions.map((run: { id: string }) => run.id)
    expect(await versions(all.at(-1)!)).toEqual(all.slice(1))
    expect(await versions(all[0]!)).toEqual([all[0], ...all.slice(2)])
  })

  it('[PAGE7] `apiKeys` has 1,000 keys and leaves out revoked ones first', async () => {
    const tenantId = await make.tenant('many keys')
    const api = createExecutor(ground, tenantId)
    await api.data('mutation { createApiKey(input: { name: "first", scopes: [READ] }) { apiKey { id } } }')
    const isOurs = sql<boolean>`tenant_id = ${tenantId}`
    const { id } = await ground.db.selectFrom('api_keys').select('id').where(isOurs).executeTakeFirstOrThrow()
    const others = await repeat('api_keys', id, `jsonb_build_object('hash', '\\x' || md5(n::text) || md5(n::text))`)
    const [newest, ...rest] = [id, ...others]
      .toSorted()
      .toReversed()
      .map((one) => encodeId('ApiKey', one))
    await api.data(`mutation { revokeApiKey(input: { id: "${newest}" }) { apiKey { id } } }`)

    const keys: string[] = (await api.data('{ apiKeys { id } }')).apiKeys.map(({ id }: { id: string }) => id)
    expect(keys).toEqual(rest.toReversed())
  })
})
