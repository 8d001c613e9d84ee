import type { Agent } from '../agents/agent.ts'
import type { Block } from '../memory/block.ts'
import { dayOf } from './local-time.ts'
import type { ConditionalRule, ToolRule } from '../tools/tool-rules.ts'

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

/** Describes the rules for the model. */
export function describeToolRules(rules: readonly ToolRule[]): string[] {
  const first = rules.filter((rule) => rule.kind === 'RUN_FIRST').map((rule) => rule.tool)
  return [
    ...(first.length > 0 ? [`The first tool that you call must be ${either(first)}.`] : []),
    ...rules.flatMap((rule) => describe(rule) ?? []),
  ]
}

function describe(rule: ToolRule): string | undefined {
  const { tool } = rule
  switch (rule.kind) {
    case 'RUN_FIRST':
    case 'CONTINUE':
      return undefined
    case 'CHILDREN':
      return `Right after ${tool}, call ${either(rule.children)} and nothing else.`
    case 'PARENT':
      return `${either(rule.children)} may be called only right after ${tool}.`
    case 'CONDITIONAL':
      return `Right after ${tool}, what it returned decides what to call: ${describeMapping(rule)}.`
    case 'TERMINAL':
      return `Calling ${tool} ends your turn.`
    case 'MAX_CALLS':
      return `${tool} may be called at most ${rule.maxCalls === 1 ? 'once' : `${rule.maxCalls} times`}.`
    case 'REQUIRED_BEFORE_EXIT':
      return `${tool} must have been called before your turn ends.`
    case 'REQUIRES_APPROVAL':
      return `A person must approve each call of ${tool}.`
    default:
      return rule satisfies never
  }
}

function describeMapping(rule: ConditionalRule): string {
  const entries = Object.entries(rule.outputMapping)
  const otherwise = rule.requireMapping ? 'nothing' : (rule.defaultChild ?? 'whatever fits')
  return [...entries.map(([output, child]) => `${output} → ${child}`), `anything else → ${otherwise}`].join('; ')
}

function either(tools: readonly string[]): string {
  return tools.length < 2 ? tools.join('') : `${tools.slice(0, -1).join(', ')} or ${tools.at(-1)}`
}
