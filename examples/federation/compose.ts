import { composeSubgraphs, createRenameTransform } from '@graphql-mesh/fusion-composition'
import { composeServices } from '@theguild/federation-composition'
import { buildASTSchema, parse } from 'graphql'

export interface Subgraph {
  readonly name: string
  readonly url: string
  readonly sdl: string
}

/** The supergraph, as every gateway of Apollo Federation reads it. */
export function compose(subgraphs: readonly Subgraph[]): string {
  const { supergraphSdl, errors } = composeServices(
    subgraphs.map(({ name, url, sdl }) => ({ name, url, typeDefs: parse(sdl) })),
  )
  if (supergraphSdl === undefined) throw new Error(errors.map(({ message }) => message).join('\n'))
  return supergraphSdl
}

/** A supergraph for Hive Gateway, in which types of the first subgraph have other names. */
export function composeRenamed(subgraphs: readonly Subgraph[], names: Readonly<Record<string, string>>): string {
  const { supergraphSdl, errors } = composeSubgraphs(
    subgraphs.map(({ name, url, sdl }, index) => ({
      name,
      url,
      schema: buildASTSchema(parse(sdl), { assumeValid: true, assumeValidSDL: true }),
      transforms:
        index > 0 ? [] : [createRenameTransform({ typeRenamer: ({ typeName }) => names[typeName] ?? typeName })],
    })),
  )
  if (errors?.length) throw new Error(errors.map(({ message }) => message).join('\n'))
  return supergraphSdl
}
