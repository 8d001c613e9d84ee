import type { CrashCluster } from './crash-cluster.ts'
import type { CrashLoad } from './crash-load.ts'

/** The outcome of everything that was accepted, according to the API. */
export interface CrashOutcome {
  readonly runs: number
  readonly lost: readonly string[]
  readonly doubled: readonly string[]
  readonly malformed: readonly string[]
}

/** Waits until every accepted run has ended, and retries those that were failed as poison. */
export async function settle(
  cluster: CrashCluster,
  load: CrashLoad,
): Promise<{ readonly stuck: number; readonly givenUp: number }> {
  const client = await cluster.client(0)
  let stuck = 0
  let givenUp = 0
  for (const { accepted } of load.conversations) {
    // Runs of a conversation end in order, so once the last has ended, all have.
    const last = accepted.at(-1)!.runId
    for (;;) {
      const { run } = await client.data(
        'query ($id: ID!) { run(id: $id, waitMs: 20000) { status error { message } } }',
        {
          id: last,
        },
      )
      if (run.status !== 'FAILED' || !/given up/.test(run.error.message)) break
      givenUp += 1
      await client.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id: last })
    }
    const runs = await readRuns(
      cluster,
      accepted.map(({ runId }) => runId),
    )
    stuck += runs.filter((run) => !['COMPLETED', 'FAILED'].includes(run.status)).length
    givenUp += runs.filter((run) => run.status === 'FAILED' && run.error!.message.includes('given up')).length
  }
  return { stuck, givenUp }
}

export async function readOutcome(cluster: CrashCluster, load: CrashLoad): Promise<CrashOutcome> {
  const lost: string[] = []
  const doubled: string[] = []
  const malformed: string[] = []
  const effects = await readEffects(cluster)
  for (const { agentId, accepted } of load.conversations) {
    const messages = await readMessages(cluster, agentId)
    const texts = messages.flatMap((message) => (message.__typename === 'UserMessage' ? [message.text!] : []))
    for (const { text } of accepted) {
      const count = texts.filter((other) => other === text).length
      if (count === 0) lost.push(text)
      if (count > 1) doubled.push(text)
    }
    if (texts.length !== accepted.length) doubled.push(`${texts.length} messages of ${accepted.length} that were sent`)
    const course = messages.map((message) => shortNames[message.__typename]).join('')
    const runs = await readRuns(
      cluster,
      accepted.map(({ runId }) => runId),
    )
    // A run that was failed as poison has no answer, or ends with a return. Every other run ends with an answer.
    const unanswered = (course.match(/[ur](?=u|$)/g) ?? []).length
    const failed = runs.filter(({ status }) => status === 'FAILED').length
    if (!/^(u(ac+r)*a?)*$/.test(course) || unanswered !== failed) malformed.push(`${course} (${failed} failed)`)
    for (const run of runs) {
      for (const call of run.steps.flatMap((step) => step.toolCalls)) {
        const times = effects.get(call.id) ?? 0
        if (!call.result) malformed.push(`${call.id} has no result`)
        if (call.name === 'once' && times > 1) doubled.push(`${call.id} ran ${times} times`)
        if (call.status === 'SUCCEEDED' && times === 0) lost.push(`${call.id} never ran`)
      }
    }
  }
  const runs = load.conversations.reduce((sum, { accepted }) => sum + accepted.length, 0)
  return { runs, lost, doubled, malformed }
}

interface ShownRun {
  readonly status: string
  readonly error: { readonly message: string } | null
  readonly steps: readonly {
    readonly toolCalls: readonly {
      readonly id: string
      readonly name: string
      readonly status: string
      readonly result: object | null
    }[]
  }[]
}

async function readRuns(cluster: CrashCluster, ids: readonly string[]): Promise<ShownRun[]> {
  const client = await cluster.client(0)
  const runs: ShownRun[] = []
  for (let start = 0; start < ids.length; start += 50) {
    const { nodes } = await client.data(
      `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Run { status error { message }
        steps { toolCalls { id name status result { status } } } } } }`,
      { ids: ids.slice(start, start + 50) },
    )
    runs.push(...nodes)
  }
  return runs
}

/** How often each call took effect. */
async function readEffects(cluster: CrashCluster): Promise<Map<string, number>> {
  const { rows } = await cluster.database.pool.query<{ key: string; times: number }>(
    'select key, count(*)::integer as times from effects group by key',
  )
  return new Map(rows.map((row) => [row.key, row.times]))
}

const shortNames: Readonly<Record<string, string>> = {
  UserMessage: 'u',
  AssistantMessage: 'a',
  ToolCallMessage: 'c',
  ToolReturnMessage: 'r',
}

interface ShownMessage {
  readonly __typename: string
  readonly text?: string
}

async function readMessages(cluster: CrashCluster, agentId: string): Promise<ShownMessage[]> {
  const client = await cluster.client(0)
  const messages: ShownMessage[] = []
  for (let after: string | null = null; ;) {
    const { agent }: any = await client.data(
      `query ($id: ID!, $after: String) { agent(id: $id) { mainConversation { messages(first: 200, after: $after) {
        nodes { __typename ... on UserMessage { text } } pageInfo { hasNextPage endCursor } } } } }`,
      { id: agentId, after },
    )
    const page = agent.mainConversation.messages
    messages.push(...page.nodes)
    if (!page.pageInfo.hasNextPage) return messages
    after = page.pageInfo.endCursor
  }
}
