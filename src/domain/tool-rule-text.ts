import type { ConditionalRule, ToolRule } from './tools/tool-rules.ts'

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
