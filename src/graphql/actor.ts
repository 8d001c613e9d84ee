import type { Actor as DomainActor, ActorKind as DomainActorKind } from '../domain/access/actor.ts'
import { builder } from './builder.ts'

const ActorKind = builder.enumType('ActorKind', {
  description: 'How an actor was authenticated.',
  values: {
    KEY: { description: 'A program, by an API key.' },
    PERSON: { description: 'A person, by an access token.' },
    OPEN: { description: 'Nobody was authenticated: the server runs on loopback without a key.' },
  } satisfies Record<DomainActorKind, { description: string }>,
})

export const Actor = builder.objectRef<DomainActor>('Actor')
Actor.implement({
  description: 'Who did something. `kind` and `id` together identify an actor within a tenant.',
  fields: (t) => ({
    kind: t.expose('kind', { type: ActorKind, description: 'How the actor was authenticated.' }),
    id: t.exposeID('id', {
      description: 'KEY: id of the API key. PERSON: subject of the access token. OPEN: always `open`.',
    }),
    name: t.exposeString('name', { description: 'Display name of the key or person. OPEN: always `open`.' }),
  }),
})
