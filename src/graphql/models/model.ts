import { modelCapabilities, type Model as ModelShape } from '../../domain/models/model.ts'
import { builder } from '../builder.ts'

const descriptions: Record<(typeof modelCapabilities)[number], string> = {
  IMAGES: 'Reads images.',
  DOCUMENTS: 'Reads documents such as PDF files.',
  TOOLS: 'Calls tools.',
  STRUCTURED_OUTPUT: 'Answers according to a JSON Schema.',
  REASONING: 'Reasons before it answers.',
}

const ModelCapability = builder.enumType('ModelCapability', {
  description: 'A feature that some models support.',
  values: Object.fromEntries(modelCapabilities.map((name) => [name, { description: descriptions[name] }])) as Record<
    (typeof modelCapabilities)[number],
    { description: string }
  >,
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
    capabilities: t.field({
      type: [ModelCapability],
      description: 'Features that the model supports.',
      resolve: (model) => [...model.capabilities],
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
    resolve: async (_root, _args, context) => [...(await context.models.listFresh())],
  }),
)
