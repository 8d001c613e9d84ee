import type { ToolRule as ToolRuleShape } from '../../domain/tools/tool-rules.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { boolean, given, implement, int, json, of, string, strings } from '../fields.ts'

const ToolRuleKind = describedEnum('ToolRuleKind', 'What a tool rule requires.', {
  RUN_FIRST: '`tool` must be the first tool called in a run.',
  CHILDREN: 'After `tool`, only `children` may be called.',
  PARENT: '`children` may be called only directly after `tool`.',
  CONDITIONAL: 'The result of `tool` determines the next tool.',
  CONTINUE: 'The run continues after `tool`.',
  TERMINAL: 'The run ends after `tool`, once every REQUIRED_BEFORE_EXIT tool was called.',
  MAX_CALLS: '`tool` may be called at most `maxCalls` times in a run.',
  REQUIRED_BEFORE_EXIT: '`tool` must be called before the run may end.',
  REQUIRES_APPROVAL: 'Every call of `tool` needs approval.',
})

const descriptions = {
  kind: 'What the rule requires.',
  tool: 'Name of the tool that the rule is about.',
  children: 'CHILDREN, PARENT: names of the tools that may follow.',
  maxCalls: 'MAX_CALLS: maximum number of calls in a run.',
  outputMapping: 'CONDITIONAL: object that maps a result of `tool` to the name of the tool to call next.',
  defaultChild: 'CONDITIONAL: tool to call next if the mapping has no entry for the result. Defaults to any tool.',
  requireMapping:
    'CONDITIONAL: if true and the mapping has no entry for the result, no tool may be called. Defaults to false.',
  prefilledArguments:
    'Arguments that replace those of the model. RUN_FIRST: for `tool`. CHILDREN, PARENT, CONDITIONAL: for the next tool.',
}

/** Resolves a field that only some kinds of rules have. */
function ifAny<Key extends AnyKey<ToolRuleShape>>(key: Key) {
  return (rule: ToolRuleShape) => (key in rule ? (rule as Extract<ToolRuleShape, Record<Key, unknown>>)[key] : null)
}

type AnyKey<Union> = Union extends unknown ? keyof Union : never

export const ToolRule = builder.objectRef<ToolRuleShape>('ToolRule')
implement(ToolRule, {
  description: 'A constraint on tool calls. Fields that do not belong to its kind are null.',
  fields: (t) => ({
    kind: of(ToolRuleKind)(descriptions.kind),
    tool: string(descriptions.tool),
    children: t.field({ ...strings.orNull(descriptions.children), resolve: ifAny('children') }),
    maxCalls: t.field({ ...int.orNull(descriptions.maxCalls), resolve: ifAny('maxCalls') }),
    outputMapping: t.field({ ...json.orNull(descriptions.outputMapping), resolve: ifAny('outputMapping') }),
    defaultChild: t.field({
      ...string.orNull(
        'CONDITIONAL: tool to call next if the mapping has no entry for the result. Null means any tool.',
      ),
      resolve: ifAny('defaultChild'),
    }),
    requireMapping: t.field({ ...boolean.orNull(descriptions.requireMapping), resolve: ifAny('requireMapping') }),
    prefilledArguments: t.field({
      ...json.orNull(descriptions.prefilledArguments),
      resolve: ifAny('prefilledArguments'),
    }),
  }),
})

export const ToolRuleInput = builder.inputType('ToolRuleInput', {
  description: 'A constraint on tool calls. Fields that do not belong to its kind must be omitted or null.',
  fields: given({
    kind: of(ToolRuleKind).required(descriptions.kind),
    tool: string.required(descriptions.tool),
    children: strings(descriptions.children),
    maxCalls: int(descriptions.maxCalls),
    outputMapping: json(descriptions.outputMapping),
    defaultChild: string(descriptions.defaultChild),
    requireMapping: boolean(descriptions.requireMapping),
    prefilledArguments: json(descriptions.prefilledArguments),
  }),
})
