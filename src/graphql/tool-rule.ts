import type { ToolRule as ToolRuleShape } from '../domain/tool-rules.ts'
import { builder } from './builder.ts'

const ToolRuleKind = builder.enumType('ToolRuleKind', {
  description: 'What a rule demands of its tool.',
  values: {
    RUN_FIRST: { description: 'Must be the first tool called in a run.' },
    CHILDREN: { description: 'After `tool`, only `children` may be called.' },
    PARENT: { description: '`children` may be called only right after `tool`.' },
    CONDITIONAL: { description: 'Which child follows depends on what `tool` returned.' },
    CONTINUE: { description: 'The run goes on after `tool`.' },
    TERMINAL: { description: 'The run ends after `tool`.' },
    MAX_CALLS: { description: 'At most `maxCalls` calls in a run.' },
    REQUIRED_BEFORE_EXIT: { description: 'Must be called before the run may end.' },
    REQUIRES_APPROVAL: { description: 'Every call of `tool` waits for approval.' },
  } as const,
})

const descriptions = {
  kind: 'What it demands.',
  tool: 'The name of the tool it is about.',
  children: 'CHILDREN, PARENT: the names of the tools that it lets follow.',
  maxCalls: 'MAX_CALLS: how many calls a run may make.',
  outputMapping: 'CONDITIONAL: output value → tool to call next.',
  defaultChild: 'CONDITIONAL: the tool to call next where the mapping has no such value.',
  requireMapping: 'CONDITIONAL: whether a value that the mapping lacks allows no tool at all.',
  prefilledArguments: "Arguments the rule fixes, merged over the model's.",
}

export const ToolRule = builder.objectRef<ToolRuleShape>('ToolRule')
ToolRule.implement({
  description: 'A constraint on which tools may be called when. Exactly the fields of its kind are set.',
  fields: (t) => ({
    kind: t.expose('kind', { type: ToolRuleKind, description: descriptions.kind }),
    tool: t.exposeString('tool', { description: descriptions.tool }),
    children: t.stringList({
      nullable: true,
      description: descriptions.children,
      resolve: (rule) => rule.children && [...rule.children],
    }),
    maxCalls: t.exposeInt('maxCalls', { nullable: true, description: descriptions.maxCalls }),
    outputMapping: t.field({
      type: 'JSON',
      nullable: true,
      description: descriptions.outputMapping,
      resolve: (rule) => rule.outputMapping,
    }),
    defaultChild: t.exposeString('defaultChild', { nullable: true, description: descriptions.defaultChild }),
    requireMapping: t.exposeBoolean('requireMapping', { nullable: true, description: descriptions.requireMapping }),
    prefilledArguments: t.field({
      type: 'JSON',
      nullable: true,
      description: descriptions.prefilledArguments,
      resolve: (rule) => rule.prefilledArguments,
    }),
  }),
})

export const ToolRuleInput = builder.inputType('ToolRuleInput', {
  description: 'A constraint on which tools may be called when. Takes exactly the fields of its kind.',
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
