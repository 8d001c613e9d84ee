import type {
  FieldMap,
  ImplementableObjectRef,
  InputFieldRef,
  InputShapeFromTypeParam,
  InputTypeParam,
  InterfaceParam,
  InterfaceRef,
  ObjectRef,
  ShapeFromTypeParam,
  TypeParam,
} from '@pothos/core'

import { encodeId, type UuidKind } from '../domain/ids.ts'
import { builder, type BuilderTypes, type InputFieldBuilder, type ObjectFieldBuilder } from './builder.ts'
import type { Context } from './context.ts'

type AnyType = TypeParam<BuilderTypes> | InputTypeParam<BuilderTypes>

/**
 * Most fields are a type and a description: `name: string('Display name.')`. In an object, such a field shows the
 * property of the same name, and `string.orNull(…)` may be null. In an input, it may be omitted or null unless it is
 * `string.required(…)`. With a resolver, it is a field that is worked out: `t.field({ ...string(…), resolve })`.
 */
export function of<const Type extends AnyType>(type: Type) {
  return Object.assign((description: string) => ({ type, description }), {
    orNull: (description: string) => ({ type, description, nullable: true }) as const,
    required: (description: string) => ({ type, description, required: true }) as const,
    withDefault: <const Value>(defaultValue: Value, description: string) =>
      ({ type, description, required: true, defaultValue }) as const,
  })
}

export const id = of('ID')
export const ids = of(['ID'])
export const string = of('String')
export const strings = of(['String'])
export const int = of('Int')
export const float = of('Float')
export const boolean = of('Boolean')
export const time = of('DateTime')
export const json = of('JSON')
export const cursor = of('EventCursor')

/** A field that shows the id in this property, with the prefix of its kind. */
export function idOf<const Key extends string>(kind: UuidKind, key: Key, description: string) {
  return { ...id(description), resolve: (parent: Readonly<Record<Key, string>>) => encodeId(kind, parent[key]) }
}

/** The same for a list of ids, or null. */
export function idsOf<const Key extends string>(kind: UuidKind, key: Key, description: string) {
  const resolve = (parent: Readonly<Record<Key, readonly string[] | null>>) =>
    parent[key]?.map((uuid) => encodeId(kind, uuid)) ?? null
  return { ...ids.orNull(description), resolve }
}

/** A field of an object that shows the property of the same name. */
export interface Shown {
  readonly type: TypeParam<BuilderTypes>
  readonly description: string
  readonly nullable?: true
}
/** A field of an object that is worked out. */
interface Resolved extends Shown {
  readonly resolve: (parent: never, args: object, context: Context) => unknown
}
type Field = Shown | Resolved | FieldMap[string]

export type ValueOf<Of extends Shown> = ShapeFromTypeParam<
  BuilderTypes,
  Of['type'],
  Of extends { readonly nullable: true } ? true : false
>
/** What an object must be for a field of this name. Nothing can be if a resolver returns something else than its type. */
type NeededBy<Name extends PropertyKey, Of> = Of extends Shown
  ? Of extends { readonly resolve: (parent: infer Parent, ...rest: never[]) => infer Value }
    ? Awaited<Value> extends ValueOf<Of>
      ? Parent
      : never
    : { readonly [Property in Name]: ValueOf<Of> }
  : unknown

/** Refuses the fields that objects of this shape cannot have. */
type FieldsOf<Shape, Fields> = {
  readonly [Name in keyof Fields]: Required<Shape> extends NeededBy<Name, Fields[Name]>
    ? Fields[Name]
    : `${string & Name} does not fit this type`
}

function fieldMap<Shape>(t: ObjectFieldBuilder<Shape>, fields: Readonly<Record<string, Field>>): FieldMap {
  const made = Object.entries(fields).map(([name, field]) => {
    if (!('description' in field)) return [name, field]
    return [name, 'resolve' in field ? t.field(field as never) : t.expose(name as never, field)]
  })
  return Object.fromEntries(made) as FieldMap
}

interface TypeOptions<Shape> {
  readonly description: string
  readonly interfaces?: InterfaceParam<BuilderTypes>[]
  readonly resolveType?: (value: Shape) => string
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** Describes an object or interface type, like Pothos's own `implement`, with fields of the short form. */
export function implement<Shape, Fields extends Readonly<Record<string, Field>>>(
  ref: ObjectRef<BuilderTypes, Shape> | ImplementableObjectRef<BuilderTypes, Shape> | InterfaceRef<BuilderTypes, Shape>,
  options: TypeOptions<Shape> & { readonly fields: (t: ObjectFieldBuilder<Shape>) => Fields & FieldsOf<Shape, Fields> },
): void {
  const { implement } = ref as { implement(options: object): void }
  implement.call(ref, { ...options, fields: (t: ObjectFieldBuilder<Shape>) => fieldMap(t, options.fields(t)) })
}

/** Adds fields to an object type from another module. */
export function addFields<Shape, Fields extends Readonly<Record<string, Field>>>(
  ref: ObjectRef<BuilderTypes, Shape> | ImplementableObjectRef<BuilderTypes, Shape>,
  fields: (t: ObjectFieldBuilder<Shape>) => Fields & FieldsOf<Shape, Fields>,
): void {
  builder.objectFields(ref, (t) => fieldMap(t, fields(t)))
}

export type ObjectFields = Readonly<Record<string, Shown | Resolved>>
type Intersected<Union> = (Union extends unknown ? (value: Union) => void : never) extends (value: infer All) => void
  ? All
  : never
/** The objects that have all these fields. */
export type ShapeOf<Fields> = Intersected<{ [Name in keyof Fields]: NeededBy<Name, Fields[Name]> }[keyof Fields]>

/** A type that has no other shape than what its fields need. */
export function objectType<Fields extends ObjectFields>(
  name: string,
  { fields, ...options }: TypeOptions<never> & { readonly fields: Fields },
) {
  const ref = builder.objectRef<ShapeOf<Fields>>(name)
  ref.implement({ ...options, fields: (t) => fieldMap(t, fields) })
  return ref
}

/** A field of an input, or an argument. */
interface Given {
  readonly type: InputTypeParam<BuilderTypes>
  readonly description: string
  readonly required?: true
  readonly defaultValue?: unknown
}
export type InputFields = Readonly<Record<string, Given>>
export type InputRefs<Fields extends InputFields> = {
  [Name in keyof Fields]: InputFieldRef<
    BuilderTypes,
    InputShapeFromTypeParam<
      BuilderTypes,
      Fields[Name]['type'],
      Fields[Name] extends { readonly required: true } ? true : false
    >
  >
}

/** The fields of an input, as Pothos takes them. */
export function given<Fields extends InputFields>(fields: Fields) {
  return (t: InputFieldBuilder): InputRefs<Fields> => {
    const refs = Object.entries(fields).map(([name, field]) => [name, t.field(field as never)])
    return Object.fromEntries(refs) as InputRefs<Fields>
  }
}

/** The arguments of a field. */
export function args<Fields extends InputFields>(fields: Fields): InputRefs<Fields> {
  return builder.args((t) => given(fields)(t as never))
}
