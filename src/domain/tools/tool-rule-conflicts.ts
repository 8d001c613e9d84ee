import type { ToolRule } from './tool-rules.ts'

export interface RuleProblem {
  /** The path to the fault, starting at the list of rules: `0.children`. */
  readonly path: string
  readonly message: string
}

/**
 * Finds rules that form a circle: tools that could never be called because each waits for the other, and tools that a
 * run could never leave.
 */
export function conflictProblems(rules: readonly ToolRule[]): RuleProblem[] {
  return [...parentCircles(rules), ...endlessCircles(rules)]
}

/** `children` may be called only right after `tool`. If that leads back to itself, none of them can be the first. */
function parentCircles(rules: readonly ToolRule[]): RuleProblem[] {
  const parents = rules.flatMap((rule) => (rule.kind === 'PARENT' ? [rule] : []))
  const before = (tool: string) => parents.filter((rule) => rule.children.includes(tool)).map((rule) => rule.tool)
  return rules.flatMap((rule, index) => {
    if (rule.kind !== 'PARENT') return []
    const circle = rule.children.find((child) => reaches(rule.tool, child, before))
    return circle === undefined
      ? []
      : [
          {
            path: `${index}.children`,
            message: `The rules lead in a circle: ${circle} could be called only after ${rule.tool}, and ${rule.tool} only after ${circle}. Neither could ever be called.`,
          },
        ]
  })
}

function reaches(from: string, to: string, next: (tool: string) => readonly string[]): boolean {
  const seen = new Set([from])
  for (const tool of seen) for (const other of next(tool)) seen.add(other)
  return seen.has(to)
}

/** A circle with an exit is allowed: it repeats a tool until another one is called. */
function endlessCircles(rules: readonly ToolRule[]): RuleProblem[] {
  const tools = new Set(rules.map((rule) => rule.tool))
  const followers = new Map([...tools].map((tool) => [tool, followersOf(rules, tool)]))
  const escaping = new Set([...tools].filter((tool) => followers.get(tool) === undefined))
  const escapes = (tool: string) => escaping.has(tool) || !tools.has(tool)
  for (let grew = true; grew;) {
    grew = false
    for (const [tool, next] of followers) {
      if (!escapes(tool) && next?.some(escapes)) grew = escaping.add(tool).has(tool)
    }
  }
  return rules.flatMap((rule, index) =>
    (rule.kind === 'CHILDREN' || rule.kind === 'CONDITIONAL') && !escapes(rule.tool)
      ? [
          {
            path: `${index}.${rule.kind === 'CHILDREN' ? 'children' : 'outputMapping'}`,
            message: `The rules lead in a circle: after ${rule.tool} only ${followers.get(rule.tool)?.join(', ')} may follow, and from there no run would ever get out. Let another tool follow, or end it with TERMINAL or MAX_CALLS.`,
          },
        ]
      : [],
  )
}

/** The tools of which one must follow `tool`. Undefined if the run may also end, or continue in any way. */
function followersOf(rules: readonly ToolRule[], tool: string): string[] | undefined {
  const own = rules.filter((rule) => rule.tool === tool)
  if (own.some((rule) => rule.kind === 'TERMINAL' || rule.kind === 'MAX_CALLS')) return undefined
  const sets = own.flatMap((rule) => {
    if (rule.kind === 'CHILDREN') return [rule.children]
    // Without a default, an output that is not mapped leaves the circle.
    if (rule.kind === 'CONDITIONAL' && rule.defaultChild !== null && !rule.requireMapping)
      return [[...Object.values(rule.outputMapping), rule.defaultChild]]
    return []
  })
  const [first, ...others] = sets
  const next = [...new Set(first ?? [])].filter((candidate) => others.every((set) => set.includes(candidate)))
  // If nothing may follow, the model has to answer.
  return next.length > 0 ? next : undefined
}
