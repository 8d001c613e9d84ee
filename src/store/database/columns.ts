import type { Database, Row } from './schema.ts'

/** `created_at` as the domain writes it: `createdAt`. */
type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : ''

const camelNames = new Map<string, string>()

function camelName(column: string): string {
  const name = camelNames.get(column) ?? column.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase())
  camelNames.set(column, name)
  return name
}

/** A row as an object of the domain, with a property for each column but those that are left out. */
export function fromColumns<Row extends object, Left extends keyof Row & string = never>(
  row: Row,
  leftOut: readonly Left[] = [],
): { [Name in Exclude<keyof Row & string, Left> as Camel<Name>]: Row[Name] } {
  const object: Record<string, unknown> = {}
  for (const [column, value] of Object.entries(row)) {
    if (!leftOut.some((name) => name === column)) object[camelName(column)] = value
  }
  return object as never
}

/** The same for some columns of a row. */
export function pickColumns<Row extends object, Column extends keyof Row & string>(
  row: Row,
  columns: readonly Column[],
): { [Name in Column as Camel<Name>]: Row[Name] } {
  const object: Record<string, unknown> = {}
  for (const column of columns) object[camelName(column)] = row[column]
  return object as never
}

/** Names of columns with their table, for statements that read several tables. */
export function qualified<Table extends string, Column extends string>(table: Table, columns: readonly Column[]) {
  return columns.map((column) => `${table}.${column}` as const)
}

type Value<Given> = Given extends readonly (infer Item)[] ? Item[] : Given
type Text<Given> = null extends Given ? string | null : string

/** Properties of an object as columns of a row. Those in `jsonb` are written as text: see `Jsonb`. */
export function toColumns<
  Source extends object,
  Plain extends keyof Source & string,
  Jsonb extends keyof Source & string = never,
>(
  source: Source,
  plain: readonly Plain[],
  jsonb: readonly Jsonb[] = [],
): { [Name in Plain as Snake<Name>]: Value<Source[Name]> } & { [Name in Jsonb as Snake<Name>]: Text<Source[Name]> } {
  const columns: Record<string, unknown> = {}
  for (const name of plain) columns[snakeName(name)] = source[name]
  for (const name of jsonb) columns[snakeName(name)] = source[name] === null ? null : JSON.stringify(source[name])
  return columns as never
}

function snakeName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** A row that was read as JSON inside another row: the same columns, but times are text. */
export type JsonRow = Readonly<Record<string, unknown>>

/** Turns it into what a separate query would have returned. Exactly the columns of times end in `_at`. */
export function fromJsonRow<Table extends keyof Database>(row: JsonRow): Row<Table> {
  const columns = Object.entries(row).map(([name, value]) => [
    name,
    name.endsWith('_at') && typeof value === 'string' ? new Date(value) : value,
  ])
  return Object.fromEntries(columns) as Row<Table>
}
