import type { FieldMap } from '@pothos/core'

import { builder, type ObjectFieldBuilder } from './builder.ts'

/** Implemented by every type that reports a refusal as data. */
const Refusal = builder.interfaceRef<{ readonly message: string }>('Refusal')
Refusal.implement({
  description:
    'A refusal that is part of normal use: nothing was changed. All other failures are in `errors` with `extensions.code`.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'Why nothing was changed, for people to read.' }),
  }),
})

export type RefusalShape<Name extends string, Shape> = Shape & { readonly type: Name; readonly message: string }

/** A way in which a mutation is refused. `type` is its name. */
export function refusalType<Name extends string, Shape = object>(
  name: Name,
  description: string,
  fields: (t: ObjectFieldBuilder<RefusalShape<Name, Shape>>) => FieldMap = () => ({}),
) {
  return builder.objectRef<RefusalShape<Name, Shape>>(name).implement({ description, interfaces: [Refusal], fields })
}
