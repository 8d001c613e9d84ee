import type { Agent } from './agent.ts'
import type { Block } from './memory/block.ts'
import { dayOf } from './context/local-time.ts'
import { describeToolRules } from './tool-rule-text.ts'

/**
 * The system prompt that a model is sent: the instructions, the tool rules, the memory blocks with what an editor of
 * them needs to know, then the day. What changes least comes first, so that providers can reuse a cached prefix. The
 * time of day would invalidate it in every step.
 */
export function compileSystemPrompt(
  agent: Pick<Agent, 'instructions' | 'toolRules' | 'timezone'>,
  blocks: readonly Block[],
  now: Date,
): string {
  const sections = [agent.instructions.trim()]
  const rules = describeToolRules(agent.toolRules)
  if (rules.length > 0) sections.push(`<tool_rules>\n${rules.map((rule) => `- ${rule}`).join('\n')}\n</tool_rules>`)
  if (blocks.length > 0) sections.push(`<memory>\n${blocks.map(compileBlock).join('\n')}\n</memory>`)
  sections.push(`<metadata>\n- Today is ${dayOf(now, agent.timezone)} (${agent.timezone}).\n</metadata>`)
  return sections.filter((section) => section !== '').join('\n\n')
}

function compileBlock(block: Block): string {
  const size = Array.from(block.value).length
  const access = block.readOnly ? ' read_only="true"' : ''
  const description = block.description ? `\n<description>${block.description}</description>` : ''
  return `<block label="${block.label}" characters="${size}" limit="${block.charLimit}"${access}>${description}\n<value>\n${block.value}\n</value>\n</block>`
}
