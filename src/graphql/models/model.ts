import type { Model as ModelShape, ModelCapability as DomainModelCapability } from '../../domain/models/model.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'

const ModelCapability = describedEnum<DomainModelCapability>('ModelCapability', 'A feature that some models support.', {
  IMAGES: 'Reads images.',
  DOCUMENTS: 'Reads documents such as PDF files.',
  TOOLS: 'Calls tools.',
  STRUCTURED_OUTPUT: 'Answers according to a JSON Schema.',
  REASONING: 'Reasons before it answers.',
})

const Model = builder.objectRef<ModelShape>('Model')
Model.implement({
  description: 'A model that the server knows.',
  fields: (t) => ({
    handle: t.exposeString('handle', { description: 'Handle for `Agent.model`: `provider/name`.' }),
    provider: t.exposeString('provider', {
      description: 'Name of the provider, as configured: the handle up to the first slash.',
    }),
    contextWindow: t.exposeInt('contextWindow', {
      description: 'Maximum number of tokens in a request and its answer.',
    }),
    capabilities: t.expose('capabilities', {
      type: [ModelCapability],
      description: 'Features that the model supports.',
    }),
    isConfigured: t.exposeBoolean('isConfigured', {
      description: 'Whether the provider can be called: its key, or whatever else it needs, is set.',
    }),
  }),
})

builder.queryField('models', (t) =>
  t.field({
    type: [Model],
    description: 'Models that the server knows. Agents may use other models of a configured provider too.',
    resolve: (_root, _args, context) => context.models.listFresh(),
  }),
)
