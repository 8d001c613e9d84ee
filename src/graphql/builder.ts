import type { Json } from '../util/json.ts'
import type { Context } from './context.ts'
import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'

/**
 * The only schema builder. Every module of this room adds its types to it. Fields are non-null by default. Mutations
 * are nullable, so that a failing one does not hide that another mutation of the document took effect.
 */
export interface SchemaTypes {
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

/** The builder's type parameter, for functions that take refs. */
export type BuilderTypes = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never

export type InputFieldBuilder = PothosSchemaTypes.InputFieldBuilder<BuilderTypes, 'InputObject'>
export type ObjectFieldBuilder<Value> = PothosSchemaTypes.ObjectFieldBuilder<BuilderTypes, Value>

builder.queryType({ description: 'All queries.' })
builder.mutationType({
  description:
    'All mutations. Their results are nullable, so that a failing one does not hide that another mutation of the document took effect.',
})
builder.subscriptionType({ description: 'All subscriptions.' })
