import type { ImplementableObjectRef, ObjectRef } from '@pothos/core'

import { builder, type BuilderTypes } from './builder.ts'

/** What a mutation answers with that leaves one thing behind: the thing, under its name. */
export function payloadType<Node>(
  name: string,
  field: string,
  node: ObjectRef<BuilderTypes, Node> | ImplementableObjectRef<BuilderTypes, Node>,
) {
  const Payload = builder.objectRef<Node>(name)
  Payload.implement({
    description: `What \`${mutationOf(name)}\` answers with.`,
    fields: (t) => ({
      [field]: t.field({
        type: node,
        description: 'As it is now.',
        resolve: (source) => source as never,
      }),
    }),
  })
  return Payload
}

/** What a mutation answers with that removes something: the id it had. */
export function deletedPayloadType(name: string) {
  const Payload = builder.objectRef<string>(name)
  Payload.implement({
    description: `What \`${mutationOf(name)}\` answers with.`,
    fields: (t) => ({
      deletedId: t.id({ description: 'The id of what is gone.', resolve: (id) => id }),
    }),
  })
  return Payload
}

function mutationOf(payload: string): string {
  return payload.charAt(0).toLowerCase() + payload.slice(1).replace(/Payload$/, '')
}
