import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'

import type { Json } from '../util/json.ts'
import type { Context } from './context.ts'

/**
 * The one builder that every module of this room adds its nouns to. Fields are non-null unless they say otherwise;
 * mutations say otherwise, so that one failing mutation of a document does not hide that another took effect.
 */
interface SchemaTypes {
  Context: Context
  DefaultFieldNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    JSON: { Input: Json; Output: Json }
    EventCursor: { Input: string; Output: string }
  }
}

export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [ComplexityPlugin],
  defaultFieldNullability: false,
  complexity: { defaultComplexity: 1, defaultListMultiplier: 10 },
})

/** The builder's types with Pothos' defaults filled in, for refs that are passed around. */
export type BuilderTypes = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never

builder.queryType({ description: 'Everything that can be read.' })
builder.mutationType({
  description:
    'Everything that can be done. Results are nullable so that one failing mutation of a document does not hide that another took effect.',
})
builder.subscriptionType({ description: 'Everything that can be watched.' })
