import {
  InputObjectRef,
  type FieldMap,
  type ImplementableObjectRef,
  type InputFieldMap,
  type InputRef,
  type InputShapeFromFields,
  type MaybePromise,
  type ObjectRef,
  type UnionRef,
} from '@pothos/core'
import type { GraphQLResolveInfo } from 'graphql'

import { ownerOf, type Viewer } from '../domain/access/viewer.ts'
import { nounOf, type UuidKind } from '../domain/ids.ts'
import { builder, type BuilderTypes, type InputFieldBuilder, type ObjectFieldBuilder } from './builder.ts'
import type { Context } from './context/context.ts'
import { judging } from '../util/json-schema.ts'
import { requireUuid } from './node.ts'

type AnyObjectRef<Value> = ObjectRef<BuilderTypes, Value> | ImplementableObjectRef<BuilderTypes, Value>

/** The fields of an input type. Its name follows from the mutation. */
interface NewInput<Fields extends InputFieldMap> {
  readonly description: string
  readonly fields: (t: InputFieldBuilder) => Fields
}

/** Makes the type of a mutation's result. Its name follows from the mutation. */
type ResultType<Value> = (mutation: string) => AnyObjectRef<Value> | UnionRef<BuilderTypes, Value>

type AnyInput = InputObjectRef<BuilderTypes, unknown> | NewInput<InputFieldMap>
type InputOf<Given extends AnyInput> =
  Given extends NewInput<infer Fields>
    ? InputShapeFromFields<Fields>
    : Given extends InputRef<infer Shape>
      ? Shape
      : never

/**
 * Adds a mutation with one argument, `input`, of the type `<Mutation>Input`: a new type, or a type that other inputs
 * use too.
 */
export function mutation<Given extends AnyInput, Result extends ResultType<unknown>>(
  name: string,
  {
    description,
    input,
    result,
    resolve,
  }: {
    readonly description: string
    readonly input: Given
    readonly result: Result
    readonly resolve: (
      input: InputOf<Given>,
      context: Context,
      info: GraphQLResolveInfo,
    ) => MaybePromise<ReturnType<Result>['$inferType']>
  },
): void {
  const type = input instanceof InputObjectRef ? input : builder.inputType(`${capitalized(name)}Input`, input)
  const ofInput = builder.configStore.getTypeConfig(type, 'InputObject').description ?? ''
  builder.mutationField(name, (t) =>
    t.field({
      type: result(name) as ObjectRef<BuilderTypes, unknown>,
      nullable: true,
      description,
      args: { input: t.arg({ type, required: true, description: ofInput }) },
      resolve: (_root, args, context, info) =>
        judging(ownerOf(context.viewer), () =>
          resolve((args as { input: InputOf<Given> }).input, context, info),
        ) as never,
    }),
  )
}

/** See `createOnce` in commands, which does what it promises. */
export const idempotencyKeyField = {
  description:
    "1 to 200 characters. The same key and input of the same actor within 24 hours are done once, and return the same object. Another actor's key is another key.",
} as const

/** The input of a mutation that only needs the id of one object. */
export function idInput(kind: UuidKind, description: string) {
  return {
    description,
    fields: (t: InputFieldBuilder) => ({ id: t.id({ required: true, description: `Id of the ${nounOf(kind)}.` }) }),
  }
}

/** Adds a mutation that deletes the object with the given id and returns the id. */
export function deletion(
  name: string,
  {
    description,
    kind,
    command,
  }: {
    readonly description: string
    readonly kind: UuidKind
    readonly command: (context: Context, viewer: Viewer, input: { readonly id: string }) => Promise<unknown>
  },
): void {
  const verb = name.startsWith('remove') ? 'remove' : 'delete'
  const shown = `Id of the ${verb}d ${nounOf(kind)}.`
  mutation(name, {
    description,
    input: idInput(kind, `The ${nounOf(kind)} to ${verb}.`),
    result: payloadOf<string>((t) => ({ deletedId: t.id({ description: shown, resolve: (id) => id }) })),
    async resolve({ id }, context) {
      await command(context, context.viewer, { id: requireUuid(kind, id) })
      return id
    },
  })
}

/** `<Mutation>Payload` with one object, under its name. */
export function payload<Value>(field: string, type: AnyObjectRef<Value>, description: string): ResultType<Value> {
  return payloadOf<Value>((t) => ({
    [field]: t.field({ type, description, resolve: (value) => value as never }),
  }))
}

/** `<Mutation>Payload` with fields of its own. */
export function payloadOf<Value>(fields: (t: ObjectFieldBuilder<Value>) => FieldMap): ResultType<Value> {
  return (mutation) => {
    const Payload = builder.objectRef<Value>(`${capitalized(mutation)}Payload`)
    return Payload.implement({ description: `Result of \`${mutation}\`.`, fields })
  }
}

/** The type of a mutation that succeeded, if it may also be refused. `type` is its name. */
export function successType<Name extends string, Shape>(
  name: Name,
  description: string,
  fields: (t: ObjectFieldBuilder<Shape & { readonly type: Name }>) => FieldMap,
) {
  return builder.objectRef<Shape & { readonly type: Name }>(name).implement({ description, fields })
}

/** `<Mutation>Result`: the mutation succeeds, or is refused in one of several ways. `type` is the name of the type. */
export function outcomes<Type extends AnyObjectRef<{ readonly type: string }>>(
  types: Type[],
  note?: string,
): ResultType<Type['$inferType']> {
  return (mutation) =>
    builder.unionType(`${capitalized(mutation)}Result`, {
      description: `Result of \`${mutation}\`.${note === undefined ? '' : ` ${note}`}`,
      types,
      resolveType: (value) => value.type,
    })
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
