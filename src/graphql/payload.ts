import type { ImplementableObjectRef, ObjectRef } from '@pothos/core'

import { builder, type BuilderTypes } from './builder.ts'

/** The result of a mutation that returns one object, under its name. */
export function payloadType<Node>(
  name: string,
  field: string,
  node: ObjectRef<BuilderTypes, Node> | ImplementableObjectRef<BuilderTypes, Node>,
  description: string,
) {
  const Payload = builder.objectRef<Node>(name)
  Payload.implement({
    description: `Result of \`${mutationOf(name)}\`.`,
    fields: (t) => ({
      [field]: t.field({
        type: node,
        description,
        resolve: (source) => source as never,
      }),
    }),
  })
  return Payload
}

/** The result of a mutation that deletes an object: the object's id. */
export function deletedPayloadType(name: string, description: string) {
  const Payload = builder.objectRef<string>(name)
  Payload.implement({
    description: `Result of \`${mutationOf(name)}\`.`,
    fields: (t) => ({
      deletedId: t.id({ description, resolve: (id) => id }),
    }),
  })
  return Payload
}

function mutationOf(payload: string): string {
  return payload.charAt(0).toLowerCase() + payload.slice(1).replace(/Payload$/, '')
}
