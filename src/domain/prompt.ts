import type { Agent } from './agent.ts'
import type { Block } from './block.ts'
import { describeToolRules } from './tool-rule-text.ts'

/**
 * The system prompt as a model is sent it: the instructions, the tool rules, then the memory blocks with what an
 * editor of them needs to know. What changes least comes first, so that providers can reuse a cached beginning.
 */
export function compileSystemPrompt(
  agent: Pick<Agent, 'instructions' | 'toolRules'>,
  blocks: readonly Block[],
): string {
  const sections = [agent.instructions.trim()]
  const rules = describeToolRules(agent.toolRules)
  if (rules.length > 0) sections.push(`<tool_rules>\n${rules.map((rule) => `- ${rule}`).join('\n')}\n</tool_rules>`)
  if (blocks.length > 0) sections.push(`<memory>\n${blocks.map(compileBlock).join('\n')}\n</memory>`)
  return sections.filter((section) => section !== '').join('\n\n')
}

function compileBlock(block: Block): string {
  const size = [...block.value].length
  const access = block.readOnly ? ' read_only="true"' : ''
  const description = block.description ? `\n<description>${block.description}</description>` : ''
  return `<block label="${block.label}" characters="${size}" limit="${block.charLimit}"${access}>${description}\n<value>\n${block.value}\n</value>\n</block>`
}
