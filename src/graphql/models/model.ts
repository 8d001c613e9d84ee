import type { Model as ModelShape, ModelCapability as DomainModelCapability } from '../../domain/models/model.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { boolean, implement, int, of, string } from '../fields.ts'

const ModelCapability = describedEnum<DomainModelCapability>('ModelCapability', 'A feature that some models support.', {
  IMAGES: 'Reads images.',
  DOCUMENTS: 'Reads documents such as PDF files.',
  TOOLS: 'Calls tools.',
  STRUCTURED_OUTPUT: 'Answers according to a JSON Schema.',
  REASONING: 'Reasons before it answers.',
})

const Model = builder.objectRef<ModelShape>('Model')
implement(Model, {
  description: 'A model that the server knows.',
  fields: () => ({
    handle: string('Handle for `Agent.model`: `provider/name`.'),
    provider: string('Name of the provider, as configured: the handle up to the first slash.'),
    contextWindow: int('Maximum number of tokens in a request and its answer.'),
    capabilities: of([ModelCapability])('Features that the model supports.'),
    isConfigured: boolean('Whether the provider can be called: its key, or whatever else it needs, is set.'),
  }),
})

builder.queryField('models', (t) =>
  t.field({
    ...of([Model])('Models that the server knows. Agents may use other models of a configured provider too.'),
    resolve: (_root, _args, context) => context.models.listFresh(),
  }),
)
