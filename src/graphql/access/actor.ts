import type { Actor as DomainActor, ActorKind as DomainActorKind } from '../../domain/access/actor.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { id, implement, of, string } from '../fields.ts'

const ActorKind = describedEnum<DomainActorKind>('ActorKind', 'How an actor was authenticated.', {
  KEY: 'A program, by an API key.',
  PERSON: 'A person, by an access token.',
  OPEN: 'Nobody was authenticated: the server runs on loopback without a key.',
})

export const Actor = builder.objectRef<DomainActor>('Actor')
implement(Actor, {
  description: 'Who did something. `kind` and `id` together identify an actor within a tenant.',
  fields: () => ({
    kind: of(ActorKind)('How the actor was authenticated.'),
    id: id('KEY: id of the API key. PERSON: subject of the access token. OPEN: always `open`.'),
    name: string('Display name of the key or person. OPEN: always `open`.'),
  }),
})
