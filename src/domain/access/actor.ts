export type ActorKind = 'KEY' | 'PERSON' | 'OPEN'

/** Who did something, stored together with what they did. `kind` and `id` together identify an actor in its tenant. */
export interface Actor {
  readonly kind: ActorKind
  /** KEY: public id of the API key. PERSON: subject of the access token. OPEN: `open`. */
  readonly id: string
  readonly name: string
}

/** Everybody, on a server that runs on loopback without a key. */
export const openActor: Actor = { kind: 'OPEN', id: 'open', name: 'open' }

export function isSameActor(one: Actor, other: Actor): boolean {
  return one.kind === other.kind && one.id === other.id
}
