import type { ModelSettings as ModelSettingsShape } from '../../domain/models/model-settings.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { boolean, float, given, implement, int, json, of, strings } from '../fields.ts'

const ReasoningEffort = describedEnum(
  'ReasoningEffort',
  'How much a model reasons before it answers, for models that accept such a setting.',
  {
    MINIMAL: 'As little as the model allows.',
    LOW: 'Little.',
    MEDIUM: 'A medium amount.',
    HIGH: 'As much as the model offers.',
  },
)

export const ModelSettings = builder.objectRef<ModelSettingsShape>('ModelSettings')
implement(ModelSettings, {
  description: 'Settings for model requests.',
  fields: (t) => ({
    temperature: float.orNull("Sampling temperature, 0 to 2. Null means the model's default."),
    maxOutputTokens: int.orNull("Maximum length of one answer. Null means the model's limit."),
    contextWindow: int.orNull(
      "Maximum size of the context in tokens; above 90% of it the context is compacted. Null means the model's own window.",
    ),
    parallelToolCalls: boolean('Whether one answer may contain several tool calls. Defaults to true.'),
    reasoningEffort: of(ReasoningEffort).orNull(
      "How much the model reasons before it answers. Null means the model's default.",
    ),
    reasoningBudget: int.orNull(
      "Maximum number of reasoning tokens, for models that accept such a limit. Null means the model's default.",
    ),
    responseSchema: t.field({
      ...json.orNull('JSON Schema that the final answer of a run must satisfy. Null means free text.'),
      resolve: (settings) => settings.responseSchema,
    }),
    fallbacks: t.stringList({
      description:
        'Handles of models to try in this order when the model is overloaded, rate limited or unreachable and has not streamed anything yet. Empty by default.',
      resolve: (settings) => settings.fallbacks,
    }),
  }),
})

export const ModelSettingsInput = builder.inputType('ModelSettingsInput', {
  description:
    'Settings for model requests. Omitted settings stay unchanged, or get their default in a new agent; null restores it.',
  fields: given({
    temperature: float("Sampling temperature, 0 to 2. Defaults to the model's default."),
    maxOutputTokens: int("Maximum length of one answer, 1 to 1,000,000. Defaults to the model's limit."),
    contextWindow: int("Maximum size of the context in tokens, 1 to 10,000,000. Defaults to the model's own window."),
    parallelToolCalls: boolean('Whether one answer may contain several tool calls. Defaults to true.'),
    reasoningEffort: of(ReasoningEffort)(
      "How much the model reasons before it answers. Defaults to the model's default.",
    ),
    reasoningBudget: int("Maximum number of reasoning tokens, 1 to 1,000,000. Defaults to the model's default."),
    responseSchema: json(
      'JSON Schema that the final answer of a run must satisfy, at most 64 KB. Defaults to null: free text.',
    ),
    fallbacks: strings(
      'Handles of models to try when the model is not available, in order, at most 10. Empty by default.',
    ),
  }),
})
