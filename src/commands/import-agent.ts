import type { Agent } from '../domain/agent.ts'
import { badUserInput, checkedAt } from '../domain/errors.ts'
import { checkedToolName } from '../domain/input.ts'
import { sealTool } from '../domain/tools/sealed-headers.ts'
import { mergeTool, refuseRulesForTwo, unsetTool } from '../domain/tools/tool-input.ts'
import type { Tool } from '../domain/tools/tool.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { findToolsByName } from '../store/tools/tool-calls.ts'
import { insertTool } from '../store/tools.ts'
import { transact } from '../store/transact.ts'
import { checkJavaScript } from './check-javascript.ts'
import type { CommandContext } from './command-context.ts'
import { lockParts, prepareAgent, recordNewAgent, type CreateAgentInput } from './create-agent.ts'
import { insertWholeAgent } from './insert-whole-agent.ts'
import { recordChange } from './record-change.ts'
import type { UpsertToolInput } from './upsert-tool.ts'

export interface ImportedTool {
  readonly name: string
  readonly approvalOverride: boolean | null
  /** Undefined if the document only names the tool, which must then exist. */
  readonly definition: UpsertToolInput | undefined
}

export interface ImportAgentInput {
  readonly agent: CreateAgentInput
  readonly tools: readonly ImportedTool[]
}

const place = 'input.document'

/** Creates an agent and those of its tools that the tenant does not have, all or nothing. */
export async function importAgent(
  context: CommandContext,
  viewer: Viewer,
  { agent: given, tools }: ImportAgentInput,
): Promise<Agent> {
  const names = tools.map((tool) => tool.name)
  const known = new Set((await findToolsByName(context.db, viewer, names)).map((tool) => tool.name))
  const created: Tool[] = []
  for (const [index, tool] of tools.entries()) {
    const field = `${place}.tools.${index}`
    if (!known.has(tool.name)) created.push(await checkedAt(field, () => toolToCreate(context, viewer, tool)))
  }
  return transact(context, async (trx) => {
    // If someone has just created a tool under the same name, that tool is used unchanged.
    for (const tool of created) {
      if (!(await insertTool(trx, tool))) continue
      const change = { before: null, after: tool }
      await recordChange(context, trx, viewer, { action: 'importAgent', subject: ['Tool', tool.id], ...change })
    }
    const byName = new Map((await findToolsByName(trx, viewer, names)).map((tool) => [tool.name, tool]))
    const attached = tools.map(({ name, approvalOverride }, index) => {
      const tool = byName.get(name)
      if (!tool)
        throw badUserInput(`${place}.tools.${index}`, `The tool ${name} was deleted during the import. Import again.`)
      return { toolId: tool.id, approvalOverride }
    })
    return checkedAt(`${place}.agent`, async () => {
      const prepared = prepareAgent(context, viewer, { ...given, tools: attached, includeBaseTools: false })
      const parts = await lockParts(trx, prepared)
      await insertWholeAgent(context, trx, prepared.agent, { ...prepared, ...parts })
      await recordNewAgent(context, trx, viewer, 'importAgent', { ...prepared, ...parts })
      return prepared.agent
    })
  })
}

async function toolToCreate(context: CommandContext, viewer: Viewer, tool: ImportedTool): Promise<Tool> {
  const { name, definition } = tool
  if (!definition)
    throw badUserInput(
      'input.name',
      `There is no tool ${name} here, and the document cannot create it. Register it in code or add its MCP server first.`,
    )
  refuseRulesForTwo(viewer.actor, definition)
  const settings = mergeTool(unsetTool, definition)
  await checkJavaScript(context, viewer, settings)
  const now = context.clock.now()
  const created: Tool = {
    ...settings,
    id: context.ids.next(),
    tenantId: viewer.tenantId,
    name: checkedToolName('input.name', name),
    createdAt: now,
    updatedAt: now,
  }
  return sealTool(context.secrets, created, undefined)
}
