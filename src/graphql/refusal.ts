import type { ObjectRef } from '@pothos/core'

import { builder, type BuilderTypes } from './builder.ts'
import { implement, type ObjectFields, objectType, type ShapeOf, string } from './fields.ts'

const message = string('Why nothing was changed, for people to read.')

/** Implemented by every type that reports a refusal as data. */
const Refusal = builder.interfaceRef<{ readonly message?: string }>('Refusal')
implement(Refusal, {
  description:
    'A refusal that is part of normal use: nothing was changed. All other failures are in `errors` with `extensions.code`.',
  fields: () => ({ message }),
})

/** A way in which a mutation is refused. `says` is the message of a refusal that brings none. */
export function refusalType<Fields extends ObjectFields, Text extends string | undefined = undefined>(
  name: string,
  options: { readonly description: string; readonly says?: Text; readonly fields: Fields },
) {
  const { description, says, fields } = options
  const resolve = (refusal: { readonly message?: string }) => refusal.message ?? says
  return objectType(name, {
    description,
    interfaces: [Refusal],
    fields: { ...fields, message: { ...message, resolve } },
  }) as unknown as ObjectRef<
    BuilderTypes,
    ShapeOf<Fields> & (Text extends string ? { readonly message?: string } : { readonly message: string })
  >
}
