import { notFound } from '../domain/errors.ts'
import { encodeId, nounOf, type UuidKind } from '../domain/ids.ts'

/** Returns the object that was found, or throws NOT_FOUND. */
export function found<Node>(kind: UuidKind, id: string, node: Node | undefined): Node {
  if (node === undefined) throw notFound(nounOf(kind), encodeId(kind, id))
  return node
}

/** The only object of a list that was read for one id, or throws NOT_FOUND. */
export async function foundOne<Node>(kind: UuidKind, id: string, nodes: Promise<readonly Node[]>): Promise<Node> {
  return found(kind, id, (await nodes)[0])
}

/** In the order of the ids. NOT_FOUND names the first id that is missing. */
export function allFound<Node extends { readonly id: string }>(
  kind: UuidKind,
  ids: readonly string[],
  nodes: readonly Node[],
): Node[] {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  return ids.map((id) => found(kind, id, byId.get(id)))
}
