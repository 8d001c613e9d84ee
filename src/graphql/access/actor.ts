import type { Actor as DomainActor, ActorKind as DomainActorKind } from '../../domain/access/actor.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'

const ActorKind = describedEnum<DomainActorKind>('ActorKind', 'How an actor was authenticated.', {
  KEY: 'A program, by an API key.',
  PERSON: 'A person, by an access token.',
  OPEN: 'Nobody was authenticated: the server runs on loopback without a key.',
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
