import type { Agent } from '../../domain/agents/agent.ts'
import { badUserInput, checkedAt } from '../../domain/errors.ts'
import { maxExportedPassages } from '../../domain/agents/agent-document.ts'
import { checkedPassages, type PassageInput } from '../../domain/memory/passage.ts'
import { checkedToolName } from '../../domain/input.ts'
import { sealTool } from '../../domain/tools/sealed-headers.ts'
import { mergeTool, refuseRulesForTwo, unsetTool } from '../../domain/tools/tool-input.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import type { Json } from '../../util/json.ts'
import { judged } from '../../util/json-schema.ts'
import { ownerOf, type Viewer } from '../../domain/access/viewer.ts'
import { findAgents } from '../../store/agents/agents.ts'
import { insertTool, findToolsByName } from '../../store/tools/tools.ts'
import { checkStorage } from '../files/store-files.ts'
import { storePassages } from '../memory/passages.ts'
import { checkImplementation, type UpsertToolInput } from '../tools/upsert-tool.ts'
import type { CommandContext } from '../command-context.ts'
import { createOnce } from '../create-once.ts'
import { refuseNestedKey, type GivenInput } from '../idempotency.ts'
import { insertAgent, prepareAgent, type CreateAgentInput } from './create-agent.ts'
import { changeOf, recordChange } from '../record-change.ts'

export interface ImportedTool {
  readonly name: string
  readonly approvalOverride: boolean | null
  /** Undefined if the document only names the tool, which must then exist. */
  readonly definition: UpsertToolInput | undefined
}

export interface ImportAgentInput {
  readonly agent: CreateAgentInput
  readonly tools: readonly ImportedTool[]
  readonly passages: readonly PassageInput[]
  /** What the client sent. */
  readonly request: GivenInput & { readonly document: Json }
}

const place = 'input.document'

/** Creates an agent and those of its tools that the tenant does not have, all or nothing. */
export async function importAgent(
  context: CommandContext,
  viewer: Viewer,
  { agent: given, tools, passages: givenPassages, request }: ImportAgentInput,
): Promise<Agent> {
  refuseNestedKey(`${place}.agent`, given)
  const passages = checkedPassages(`${place}.passages`, givenPassages, { max: maxExportedPassages })
  const names = tools.map((tool) => tool.name)
  const created: Tool[] = []
  const prepare = async (): Promise<void> => {
    const known = new Set((await findToolsByName(context.db, viewer, names)).map((tool) => tool.name))
    for (const [index, tool] of tools.entries()) {
      const field = `${place}.tools.${index}`
      if (!known.has(tool.name)) created.push(await checkedAt(field, () => toolToCreate(context, viewer, tool)))
    }
  }
  const creation = { mutation: 'importAgent', kind: 'Agent', input: request, find: findAgents, prepare } as const
  return createOnce(context, viewer, creation, async (trx) => {
    // If someone has just created a tool under the same name, that tool is used unchanged.
    for (const tool of created) {
      if (!(await insertTool(trx, tool))) continue
      await recordChange(context, trx, viewer, changeOf('importAgent', 'Tool', null, tool))
    }
    const byName = new Map((await findToolsByName(trx, viewer, names)).map((tool) => [tool.name, tool]))
    const attached = tools.map(({ name, approvalOverride }, index) => {
      const tool = byName.get(name)
      if (!tool)
        throw badUserInput(`${place}.tools.${index}`, `The tool ${name} was deleted during the import. Import again.`)
      return { toolId: tool.id, approvalOverride }
    })
    const agent = await checkedAt(`${place}.agent`, () => {
      const prepared = prepareAgent(context, viewer, { ...given, tools: attached, includeBaseTools: false })
      return insertAgent(context, trx, viewer, 'importAgent', prepared)
    })
    const { tenantId } = viewer
    await storePassages(context, trx, { tenantId, agentId: agent.id }, passages)
    if (passages.length > 0) await checkStorage(context, trx, tenantId, `${place}.passages`)
    return agent
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
  const settings = await judged(ownerOf(viewer), () => mergeTool(unsetTool, definition))
  await checkImplementation(context, viewer, definition.implementation)
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
