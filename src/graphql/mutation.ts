import {
  type ImplementableObjectRef,
  InputObjectRef,
  type InputRef,
  type InputShapeFromFields,
  type MaybePromise,
  type ObjectRef,
  type UnionRef,
} from '@pothos/core'
import type { GraphQLResolveInfo } from 'graphql'

import { ownerOf, type Viewer } from '../domain/access/viewer.ts'
import { nounOf, type UuidKind } from '../domain/ids.ts'
import { judging } from '../util/json-schema.ts'
import { builder, type BuilderTypes } from './builder.ts'
import type { Context } from './context.ts'
import {
  given,
  id,
  type InputFields,
  type InputRefs,
  type ObjectFields,
  objectType,
  of,
  type ShapeOf,
  string,
} from './fields.ts'
import { requireUuid } from './node.ts'

type AnyObjectRef<Value> = ObjectRef<BuilderTypes, Value> | ImplementableObjectRef<BuilderTypes, Value>

/** The fields of an input type. Its name follows from the mutation. */
interface NewInput<Fields extends InputFields> {
  readonly description: string
  readonly fields: Fields
}

/** Makes the type of a mutation's result. Its name follows from the mutation. */
type ResultType<Value> = (mutation: string) => AnyObjectRef<Value> | UnionRef<BuilderTypes, Value>

type AnyInput = InputObjectRef<BuilderTypes, unknown> | NewInput<InputFields>
type InputOf<Input extends AnyInput> =
  Input extends NewInput<infer Fields>
    ? InputShapeFromFields<InputRefs<Fields>>
    : Input extends InputRef<infer Shape>
      ? Shape
      : never

/**
 * Adds a mutation with one argument, `input`, of the type `<Mutation>Input`: a new type, or a type that other inputs
 * use too.
 */
export function mutation<Input extends AnyInput, Result extends ResultType<unknown>>(
  name: string,
  {
    description,
    input,
    result,
    resolve,
  }: {
    readonly description: string
    readonly input: Input
    readonly result: Result
    readonly resolve: (
      input: InputOf<Input>,
      context: Context,
      info: GraphQLResolveInfo,
    ) => MaybePromise<ReturnType<Result>['$inferType']>
  },
): void {
  const type =
    input instanceof InputObjectRef
      ? input
      : builder.inputType(`${capitalized(name)}Input`, { ...input, fields: given(input.fields) })
  const ofInput = builder.configStore.getTypeConfig(type, 'InputObject').description ?? ''
  builder.mutationField(name, (t) =>
    t.field({
      type: result(name) as ObjectRef<BuilderTypes, unknown>,
      nullable: true,
      description,
      args: { input: t.arg({ type, required: true, description: ofInput }) },
      resolve: (_root, args, context, info) =>
        judging(ownerOf(context.viewer), () =>
          resolve((args as { input: InputOf<Input> }).input, context, info),
        ) as never,
    }),
  )
}

/** See `createOnce` in commands, which does what it promises. */
export const idempotencyKeyField = string(
  "1 to 200 characters. The same key and input of the same actor within 24 hours are done once, and return the same object. Another actor's key is another key.",
)

/** The input of a mutation that only needs the id of one object. */
export function idInput(kind: UuidKind, description: string) {
  return { description, fields: { id: id.required(`Id of the ${nounOf(kind)}.`) } }
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
  mutation(name, {
    description,
    input: idInput(kind, `The ${nounOf(kind)} to ${verb}.`),
    result: payloadOf({ deletedId: id(`Id of the ${verb}d ${nounOf(kind)}.`) }),
    async resolve({ id: deletedId }, context) {
      await command(context, context.viewer, { id: requireUuid(kind, deletedId) })
      return { deletedId }
    },
  })
}

/** `<Mutation>Payload` with one object, under its name. */
export function payload<Value>(field: string, type: AnyObjectRef<Value>, description: string): ResultType<Value> {
  return payloadOf({ [field]: { ...of(type)(description), resolve: (value: Value) => value } }) as never
}

/** `<Mutation>Payload` with several fields. */
export function payloadOf<Fields extends ObjectFields>(fields: Fields): ResultType<ShapeOf<Fields>> {
  return (mutation) =>
    objectType(`${capitalized(mutation)}Payload`, { description: `Result of \`${mutation}\`.`, fields })
}

type ObjectTypes = Readonly<Record<string, { readonly name: string; readonly $inferType: unknown }>>
type Outcome<Types extends ObjectTypes> = {
  [Name in keyof Types]: Types[Name]['$inferType'] & { readonly outcome: Name }
}[keyof Types]

/** `<Mutation>Result`, for a mutation with several outcomes: it succeeds, or is refused in one of several ways. */
export function outcomes<Types extends ObjectTypes>(types: Types, note?: string): ResultType<Outcome<Types>> {
  return (mutation) =>
    builder.unionType(`${capitalized(mutation)}Result`, {
      description: `Result of \`${mutation}\`.${note === undefined ? '' : ` ${note}`}`,
      types: Object.values(types) as never[],
      resolveType: ({ outcome }: { readonly outcome: string }) => types[outcome]?.name,
    })
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
