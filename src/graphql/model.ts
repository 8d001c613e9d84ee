import type { Model as ModelShape } from '../domain/model.ts'
import { builder } from './builder.ts'

const Model = builder.objectRef<ModelShape>('Model')
Model.implement({
  description: 'A model that this server can reach.',
  fields: (t) => ({
    handle: t.exposeString('handle', { description: 'provider/name, as `Agent.model` takes it.' }),
    provider: t.exposeString('provider', { description: 'The part of the handle before the slash.' }),
    contextWindow: t.exposeInt('contextWindow', { description: 'The most tokens that a request may hold.' }),
  }),
})

builder.queryField('models', (t) =>
  t.field({
    type: [Model],
    description: 'The models this server can reach.',
    resolve: (_root, _args, context) => [...context.models.list()],
  }),
)
