import type { ModelSettings as ModelSettingsShape } from '../domain/agent.ts'
import { builder } from './builder.ts'

const ReasoningEffort = builder.enumType('ReasoningEffort', {
  description: 'How much a model thinks before it answers, for models that can be told.',
  values: {
    MINIMAL: { description: 'As little as it can.' },
    LOW: { description: 'Little.' },
    MEDIUM: { description: 'Some.' },
    HIGH: { description: 'Much.' },
  } as const,
})

export const ModelSettings = builder.objectRef<ModelSettingsShape>('ModelSettings')
ModelSettings.implement({
  description: 'How the model is asked.',
  fields: (t) => ({
    temperature: t.exposeFloat('temperature', { nullable: true, description: "The model's own default when null." }),
    maxOutputTokens: t.exposeInt('maxOutputTokens', {
      nullable: true,
      description: "The most tokens of one answer; the model's own limit when null.",
    }),
    contextWindow: t.exposeInt('contextWindow', {
      nullable: true,
      description: "Tokens the context may hold before compaction; the model's own window when null.",
    }),
    parallelToolCalls: t.exposeBoolean('parallelToolCalls', {
      description: 'Whether one answer may call several tools.',
    }),
    reasoningEffort: t.expose('reasoningEffort', {
      type: ReasoningEffort,
      nullable: true,
      description: "The model's own default when null.",
    }),
    reasoningBudget: t.exposeInt('reasoningBudget', {
      nullable: true,
      description: 'Thinking budget in tokens, for models that take one.',
    }),
    responseSchema: t.field({
      type: 'JSON',
      nullable: true,
      description: 'A JSON Schema the final answer must satisfy.',
      resolve: (settings) => settings.responseSchema,
    }),
  }),
})

export const ModelSettingsInput = builder.inputType('ModelSettingsInput', {
  description: 'What is left out stays as it is; null goes back to the default.',
  fields: (t) => ({
    temperature: t.float({ description: "From 0 to 2; the model's own by default." }),
    maxOutputTokens: t.int({ description: "The most tokens of one answer; the model's own limit by default." }),
    contextWindow: t.int({
      description: "Tokens the context may hold before compaction; the model's own window by default.",
    }),
    parallelToolCalls: t.boolean({ description: 'Whether one answer may call several tools; true by default.' }),
    reasoningEffort: t.field({ type: ReasoningEffort, description: "The model's own by default." }),
    reasoningBudget: t.int({ description: 'Thinking budget in tokens, for models that take one.' }),
    responseSchema: t.field({ type: 'JSON', description: 'A JSON Schema the final answer must satisfy.' }),
  }),
})
