import type { CompactionSettings as CompactionSettingsShape } from '../domain/agent.ts'
import { builder } from './builder.ts'

const CompactionMode = builder.enumType('CompactionMode', {
  description: 'What compaction puts into the summary.',
  values: {
    ALL: { description: 'Every message.' },
    SLIDING_WINDOW: { description: 'The older messages; the recent ones stay as they are.' },
  } as const,
})

export const CompactionSettings = builder.objectRef<CompactionSettingsShape>('CompactionSettings')
CompactionSettings.implement({
  description: 'How a context that grew too long is made short again.',
  fields: (t) => ({
    mode: t.expose('mode', { type: CompactionMode, description: 'What goes into the summary.' }),
    model: t.exposeString('model', {
      nullable: true,
      description: "The model that writes summaries; the agent's own when null.",
    }),
    prompt: t.exposeString('prompt', {
      nullable: true,
      description: "What the model is told about writing summaries; the server's own words when null.",
    }),
    keepRatio: t.exposeFloat('keepRatio', { description: 'SLIDING_WINDOW: the share of recent messages kept.' }),
  }),
})

export const CompactionSettingsInput = builder.inputType('CompactionSettingsInput', {
  description: 'What is left out stays as it is; null goes back to the default.',
  fields: (t) => ({
    mode: t.field({ type: CompactionMode, description: 'SLIDING_WINDOW by default.' }),
    model: t.string({ description: "A model handle; the agent's own model by default." }),
    prompt: t.string({ description: "What the model is told about writing summaries; the server's own by default." }),
    keepRatio: t.float({ description: 'From 0 to 1, 0.7 by default.' }),
  }),
})
