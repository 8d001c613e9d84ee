import type { ServerResponse } from 'node:http'

import type { GraphQLSchema } from 'graphql'

import { printedPossibleTypes, printedSchema } from '../../graphql/printed-schema.ts'
import type { Subgraph } from '../../graphql/subgraph.ts'
import { sendError } from './pages.ts'

const sdlType = 'application/graphql; charset=utf-8'

const files = {
  '/schema.graphql': { type: sdlType, print: printedSchema },
  '/possible-types.json': { type: 'application/json; charset=utf-8', print: printedPossibleTypes },
}

type SchemaFile = keyof typeof files

export function isSchemaFile(path: string | undefined): path is SchemaFile {
  return path !== undefined && Object.hasOwn(files, path)
}

/**
 * Sends the schema in the forms that client tools and gateways need. Each file is printed at the first request and
 * cached. `url` is the path of a file, with a query.
 */
export function createSchemaFiles(
  schema: GraphQLSchema,
  subgraph: Subgraph | undefined,
): (response: ServerResponse, url: string) => void {
  const printed = new Map<SchemaFile, Buffer>()
  return (response, url) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost')
    const path = pathname as SchemaFile
    const asksForSubgraph = path === '/schema.graphql' && searchParams.get('subgraph') === '1'
    if (asksForSubgraph && !subgraph)
      return sendError(response, 404, 'This server is not a subgraph. Start it with HOLDPOINT_SUBGRAPH=1.')
    const { type, print } = files[path]
    const body = asksForSubgraph ? Buffer.from(subgraph!.sdl) : (printed.get(path) ?? Buffer.from(print(schema)))
    if (!asksForSubgraph) printed.set(path, body)
    response.writeHead(200, { 'content-type': type, 'content-length': body.length, 'cache-control': 'no-cache' })
    response.end(body)
  }
}
