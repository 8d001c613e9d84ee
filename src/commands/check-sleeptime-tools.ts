import type { Transaction } from 'kysely'

import type { Agent } from '../domain/agent.ts'
import { refuseWaitingTools } from '../domain/memory/sleeptime-agent.ts'
import { listToolsOfAgents } from '../store/agents/agent-tools.ts'
import type { Database } from '../store/database/schema.ts'
import { isSleeptimeAgent } from '../store/memory/sleeptime-groups.ts'

/**
 * Called after an agent's tools or rules changed, with its row locked: an agent that works in the background must not
 * have a tool that waits.
 */
export async function checkSleeptimeTools(trx: Transaction<Database>, field: string, agent: Agent): Promise<void> {
  if (!(await isSleeptimeAgent(trx, agent.id))) return
  refuseWaitingTools(field, agent, await listToolsOfAgents(trx, agent, [agent.id]))
}
