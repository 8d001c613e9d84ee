import type { ModelSettings as ModelSettingsShape } from '../../domain/agent.ts'
import { builder } from '../builder.ts'

const ReasoningEffort = builder.enumType('ReasoningEffort', {
  description: 'How much a model reasons before it answers, for models that accept such a setting.',
  values: {
    MINIMAL: { description: 'As little as the model allows.' },
    LOW: { description: 'Little.' },
    MEDIUM: { description: 'A medium amount.' },
    HIGH: { description: 'As much as the model offers.' },
  } as const,
})

export const ModelSettings = builder.objectRef<ModelSettingsShape>('ModelSettings')
ModelSettings.implement({
  description: 'Settings for model requests.',
  fields: (t) => ({
    temperature: t.exposeFloat('temperature', {
      nullable: true,
      description: "Sampling temperature, 0 to 2. Null means the model's default.",
    }),
    maxOutputTokens: t.exposeInt('maxOutputTokens', {
      nullable: true,
      description: "Maximum length of one answer. Null means the model's limit.",
    }),
    contextWindow: t.exposeInt('contextWindow', {
      nullable: true,
      description:
        "Maximum size of the context in tokens; above 90% of it the context is compacted. Null means the model's own window.",
    }),
    parallelToolCalls: t.exposeBoolean('parallelToolCalls', {
      description: 'Whether one answer may contain several tool calls. Defaults to true.',
    }),
    reasoningEffort: t.expose('reasoningEffort', {
      type: ReasoningEffort,
      nullable: true,
      description: "How much the model reasons before it answers. Null means the model's default.",
    }),
    reasoningBudget: t.exposeInt('reasoningBudget', {
      nullable: true,
      description:
        "Maximum number of reasoning tokens, for models that accept such a limit. Null means the model's default.",
    }),
    responseSchema: t.field({
      type: 'JSON',
      nullable: true,
      description: 'JSON Schema that the final answer of a run must satisfy. Null means free text.',
      resolve: (settings) => settings.responseSchema,
    }),
    fallbacks: t.stringList({
      description:
        'Handles of models to try in this order when the model is overloaded, rate limited or unreachable and has not streamed anything yet. Empty by default.',
      resolve: (settings) => [...settings.fallbacks],
    }),
  }),
})

export const ModelSettingsInput = builder.inputType('ModelSettingsInput', {
  description:
    'Settings for model requests. Omitted settings stay unchanged, or get their default in a new agent; null restores it.',
  fields: (t) => ({
    temperature: t.float({ description: "Sampling temperature, 0 to 2. Defaults to the model's default." }),
    maxOutputTokens: t.int({
      description: "Maximum length of one answer, 1 to 1,000,000. Defaults to the model's limit.",
    }),
    contextWindow: t.int({
      description: "Maximum size of the context in tokens, 1 to 10,000,000. Defaults to the model's own window.",
    }),
    parallelToolCalls: t.boolean({
      description: 'Whether one answer may contain several tool calls. Defaults to true.',
    }),
    reasoningEffort: t.field({
      type: ReasoningEffort,
      description: "How much the model reasons before it answers. Defaults to the model's default.",
    }),
    reasoningBudget: t.int({
      description: "Maximum number of reasoning tokens, 1 to 1,000,000. Defaults to the model's default.",
    }),
    responseSchema: t.field({
      type: 'JSON',
      description:
        'JSON Schema that the final answer of a run must satisfy, at most 64 KB. Defaults to null: free text.',
    }),
    fallbacks: t.stringList({
      description: 'Handles of models to try when the model is not available, in order, at most 10. Empty by default.',
    }),
  }),
})
