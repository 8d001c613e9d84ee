import { addPassages } from '../../commands/memory/add-passages.ts'
import { deletePassages } from '../../commands/memory/delete-passages.ts'
import { badUserInput } from '../../domain/errors.ts'
import { checkedTags } from '../../domain/input.ts'
import { checkedQuery, type Passage as DomainPassage } from '../../domain/memory/passage.ts'
import { listPassagesPage } from '../../store/memory/passages.ts'
import { searchPassages, type PassageMatch as DomainPassageMatch } from '../../store/memory/search-passages.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { connectionType, pageArguments, pageComplexity } from '../connection.ts'
import { loadExisting } from '../load-existing.ts'
import { idempotencyKeyField, mutation, payloadOf } from '../mutation.ts'
import { Node, requireUuid } from '../node.ts'

const Passage = builder.objectRef<DomainPassage>('Passage')
Passage.implement({
  description:
    "A text in an agent's archive, found by meaning and by words. It is not in the context until a tool finds it.",
  interfaces: [Node],
  fields: (t) => ({
    agent: t.field({
      type: Agent,
      description: 'Agent whose archive it is in.',
      resolve: ({ agentId }, _args, { loaders }) => loadExisting(loaders.agents, 'Agent', agentId),
    }),
    text: t.exposeString('text', { description: 'The text.' }),
    tags: t.exposeStringList('tags', { description: 'Tags that searches can filter by.' }),
    metadata: t.expose('metadata', {
      type: 'JSON',
      description: "JSON object for the client's own use. Empty by default.",
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the passage was added.' }),
    embedded: t.exposeBoolean('embedded', {
      description:
        "Whether there is a vector of the agent's current embedding model, so that the passage is found by meaning.",
    }),
  }),
})

const PassageMatch = builder.objectRef<DomainPassageMatch>('PassageMatch')
PassageMatch.implement({
  description: 'A passage that a search found.',
  fields: (t) => ({
    passage: t.field({ type: Passage, description: 'The passage.', resolve: ({ passage }) => passage }),
    score: t.exposeFloat('score', {
      description: 'How well it fits: the higher, the better. Comparable within one search only.',
    }),
  }),
})

const tagsArgument = { description: 'Only passages that have all of these tags. At most 50.' }
const defaultMatches = 10
const maxMatches = 100

builder.objectFields(Agent, (t) => ({
  embeddingModel: t.exposeString('embeddingModel', {
    nullable: true,
    description:
      'Model handle that passages of the archive are embedded with. Null: passages are found by their words alone.',
  }),
  passages: t.field({
    type: connectionType('Passage', Passage),
    description: 'Passages of the archive, oldest first.',
    args: { ...pageArguments, tags: t.arg.stringList(tagsArgument) },
    complexity: pageComplexity,
    resolve: ({ id }, { tags, ...page }, { db, viewer }) =>
      listPassagesPage(db, viewer, { agentId: id, tags: checkedTags('tags', tags ?? []) }, page),
  }),
  searchPassages: t.field({
    type: [PassageMatch],
    description:
      'Passages of the archive that fit the query best, by words and, as far as they are embedded, by meaning. The best come first.',
    args: {
      query: t.arg.string({ required: true, description: 'What to search for, at most 20,000 characters.' }),
      first: t.arg.int({
        description: `How many passages to return. Defaults to ${defaultMatches}, at most ${maxMatches}.`,
      }),
      tags: t.arg.stringList(tagsArgument),
    },
    complexity: ({ first }) => ({ field: 10, multiplier: Math.min(first ?? defaultMatches, maxMatches) }),
    resolve({ id }, { query, first, tags }, { db, viewer, models }) {
      const limit = first ?? defaultMatches
      if (limit < 1 || limit > maxMatches)
        throw badUserInput('first', `It is ${limit}. Expected a number from 1 to ${maxMatches}.`)
      return searchPassages(db, viewer, {
        agentId: id,
        query: checkedQuery('query', query),
        tags: checkedTags('tags', tags ?? []),
        limit,
        embed: models.embedQuery,
      })
    },
  }),
}))

const PassageInput = builder.inputType('PassageInput', {
  description: "A new text in an agent's archive.",
  fields: (t) => ({
    text: t.string({ required: true, description: 'The text: 1 to 20,000 characters.' }),
    tags: t.stringList({ description: 'Tags that searches can filter by: at most 50, each at most 64 characters.' }),
    metadata: t.field({
      type: 'JSON',
      description: "JSON object for the client's own use, at most 64 KB. Empty by default.",
    }),
  }),
})

mutation('addPassages', {
  description:
    "Adds texts to an agent's archive, all or none. They are stored and found by their words at once. If the agent has an embedding model, they are embedded in the background, and again when the model changes.",
  input: {
    description: "Texts to add to an agent's archive.",
    fields: (t) => ({
      agentId: t.id({ required: true, description: 'Id of the agent.' }),
      passages: t.field({ type: [PassageInput], required: true, description: 'The texts, at most 1,000.' }),
      idempotencyKey: t.string(idempotencyKeyField),
    }),
  },
  result: payloadOf<readonly DomainPassage[]>((t) => ({
    passages: t.field({
      type: [Passage],
      description: 'The new passages, in the order of the input.',
      resolve: (passages) => passages,
    }),
  })),
  resolve: (input, context) =>
    addPassages(context, context.viewer, { ...input, agentId: requireUuid('Agent', input.agentId) }),
})

mutation('deletePassages', {
  description: 'Deletes passages, all or none.',
  input: {
    description: 'The passages to delete.',
    fields: (t) => ({ ids: t.idList({ required: true, description: 'Ids of the passages, at most 1,000.' }) }),
  },
  result: payloadOf<readonly string[]>((t) => ({
    deletedIds: t.idList({ description: 'Ids of the deleted passages.', resolve: (ids) => [...ids] }),
  })),
  async resolve({ ids }, context) {
    const uuids = ids.map((id) => requireUuid('Passage', id))
    await deletePassages(context, context.viewer, { ids: uuids })
    return ids
  },
})
