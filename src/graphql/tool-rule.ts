import type { ToolRule as ToolRuleShape } from '../domain/tools/tool-rules.ts'
import { builder } from './builder.ts'

const ToolRuleKind = builder.enumType('ToolRuleKind', {
  description: 'What a tool rule requires.',
  values: {
    RUN_FIRST: { description: '`tool` must be the first tool called in a run.' },
    CHILDREN: { description: 'After `tool`, only `children` may be called.' },
    PARENT: { description: '`children` may be called only directly after `tool`.' },
    CONDITIONAL: { description: 'The result of `tool` determines the next tool.' },
    CONTINUE: { description: 'The run continues after `tool`.' },
    TERMINAL: { description: 'The run ends after `tool`, once every REQUIRED_BEFORE_EXIT tool was called.' },
    MAX_CALLS: { description: '`tool` may be called at most `maxCalls` times in a run.' },
    REQUIRED_BEFORE_EXIT: { description: '`tool` must be called before the run may end.' },
    REQUIRES_APPROVAL: { description: 'Every call of `tool` needs approval.' },
  } as const,
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

export const ToolRule = builder.objectRef<ToolRuleShape>('ToolRule')
ToolRule.implement({
  description: 'A constraint on tool calls. Fields that do not belong to its kind are null.',
  fields: (t) => ({
    kind: t.expose('kind', { type: ToolRuleKind, description: descriptions.kind }),
    tool: t.exposeString('tool', { description: descriptions.tool }),
    children: t.stringList({
      nullable: true,
      description: descriptions.children,
      resolve: (rule) => ('children' in rule ? [...rule.children] : null),
    }),
    maxCalls: t.int({
      nullable: true,
      description: descriptions.maxCalls,
      resolve: (rule) => (rule.kind === 'MAX_CALLS' ? rule.maxCalls : null),
    }),
    outputMapping: t.field({
      type: 'JSON',
      nullable: true,
      description: descriptions.outputMapping,
      resolve: (rule) => (rule.kind === 'CONDITIONAL' ? rule.outputMapping : null),
    }),
    defaultChild: t.string({
      nullable: true,
      description: 'CONDITIONAL: tool to call next if the mapping has no entry for the result. Null means any tool.',
      resolve: (rule) => (rule.kind === 'CONDITIONAL' ? rule.defaultChild : null),
    }),
    requireMapping: t.boolean({
      nullable: true,
      description: descriptions.requireMapping,
      resolve: (rule) => (rule.kind === 'CONDITIONAL' ? rule.requireMapping : null),
    }),
    prefilledArguments: t.field({
      type: 'JSON',
      nullable: true,
      description: descriptions.prefilledArguments,
      resolve: (rule) => ('prefilledArguments' in rule ? rule.prefilledArguments : null),
    }),
  }),
})

export const ToolRuleInput = builder.inputType('ToolRuleInput', {
  description: 'A constraint on tool calls. Fields that do not belong to its kind must be omitted or null.',
  fields: (t) => ({
    kind: t.field({ type: ToolRuleKind, required: true, description: descriptions.kind }),
    tool: t.string({ required: true, description: descriptions.tool }),
    children: t.stringList({ description: descriptions.children }),
    maxCalls: t.int({ description: descriptions.maxCalls }),
    outputMapping: t.field({ type: 'JSON', description: descriptions.outputMapping }),
    defaultChild: t.string({ description: descriptions.defaultChild }),
    requireMapping: t.boolean({ description: descriptions.requireMapping }),
    prefilledArguments: t.field({ type: 'JSON', description: descriptions.prefilledArguments }),
  }),
})
