import type { Transaction } from 'kysely'

import type { Agent } from '../domain/agent.ts'
import { refuseWaitingTools } from '../domain/sleeptime-agent.ts'
import { listToolsOfAgents } from '../store/agent-tools.ts'
import type { Database } from '../store/schema.ts'
import { isSleeptimeAgent } from '../store/sleeptime-groups.ts'

/**
 * After a change of an agent's tools or rules, with its row locked: one that works in the background may not get a tool
 * that waits.
 */
export async function checkSleeptimeTools(trx: Transaction<Database>, field: string, agent: Agent): Promise<void> {
  if (!(await isSleeptimeAgent(trx, agent.id))) return
  refuseWaitingTools(field, agent, await listToolsOfAgents(trx, agent, [agent.id]))
}
