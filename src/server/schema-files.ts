import type { ServerResponse } from 'node:http'

import type { GraphQLSchema } from 'graphql'

import { printedPossibleTypes, printedSchema } from '../graphql/printed-schema.ts'

const files = {
  '/schema.graphql': { type: 'application/graphql; charset=utf-8', print: printedSchema },
  '/possible-types.json': { type: 'application/json; charset=utf-8', print: printedPossibleTypes },
}

export type SchemaFile = keyof typeof files

export function isSchemaFile(path: string | undefined): path is SchemaFile {
  return path !== undefined && Object.hasOwn(files, path)
}

/** Sends the schema in the forms that client tools need. Each file is printed at the first request and cached. */
export function createSchemaFiles(schema: GraphQLSchema): (response: ServerResponse, path: SchemaFile) => void {
  const printed = new Map<SchemaFile, Buffer>()
  return (response, path) => {
    const { type, print } = files[path]
    const body = printed.get(path) ?? Buffer.from(print(schema))
    printed.set(path, body)
    response.writeHead(200, { 'content-type': type, 'content-length': body.length, 'cache-control': 'no-cache' })
    response.end(body)
  }
}
