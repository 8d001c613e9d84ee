import { addPassages, deletePassages } from '../../commands/memory/passages.ts'
import { badUserInput } from '../../domain/errors.ts'
import { checkedTags } from '../../domain/input.ts'
import { checkedQuery, type Passage as DomainPassage } from '../../domain/memory/passage.ts'
import { listPassagesPage } from '../../store/memory/passages.ts'
import { type PassageMatch as DomainPassageMatch, searchPassages } from '../../store/memory/search-passages.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { connectionType, pageOf } from '../connection.ts'
import {
  addFields,
  args,
  boolean,
  float,
  given,
  id,
  ids,
  implement,
  int,
  json,
  of,
  string,
  strings,
  time,
} from '../fields.ts'
import { linkTo } from '../load-existing.ts'
import { idempotencyKeyField, mutation, payloadOf } from '../mutation.ts'
import { Node, requireUuid } from '../node.ts'

const Passage = builder.objectRef<DomainPassage>('Passage')
implement(Passage, {
  description:
    "A text in an agent's archive, found by meaning and by words. It is not in the context until a tool finds it.",
  interfaces: [Node],
  fields: () => ({
    agent: linkTo(Agent, 'agentId', 'Agent whose archive it is in.'),
    text: string('The text.'),
    tags: strings('Tags that searches can filter by.'),
    metadata: json("JSON object for the client's own use. Empty by default."),
    createdAt: time('When the passage was added.'),
    embedded: boolean(
      "Whether there is a vector of the agent's current embedding model, so that the passage is found by meaning.",
    ),
  }),
})

const PassageMatch = builder.objectRef<DomainPassageMatch>('PassageMatch')
implement(PassageMatch, {
  description: 'A passage that a search found.',
  fields: (t) => ({
    passage: t.field({ type: Passage, description: 'The passage.', resolve: ({ passage }) => passage }),
    score: float('How well it fits: the higher, the better. Comparable within one search only.'),
  }),
})

const withTags = { tags: strings('Only passages that have all of these tags. At most 50.') }
const defaultMatches = 10
const maxMatches = 100

addFields(Agent, (t) => ({
  embeddingModel: string.orNull(
    'Model handle that passages of the archive are embedded with. Null: passages are found by their words alone.',
  ),
  passages: t.field({
    ...pageOf(connectionType('Passage', Passage), 'Passages of the archive, oldest first.', withTags),
    resolve: ({ id }, { tags, ...page }, { db, viewer }) =>
      listPassagesPage(db, viewer, { agentId: id, tags: checkedTags('tags', tags ?? []) }, page),
  }),
  searchPassages: t.field({
    type: [PassageMatch],
    description:
      'Passages of the archive that fit the query best, by words and, as far as they are embedded, by meaning. The best come first.',
    args: args({
      query: string.required('What to search for, at most 20,000 characters.'),
      first: int(`How many passages to return. Defaults to ${defaultMatches}, at most ${maxMatches}.`),
      ...withTags,
    }),
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
  fields: given({
    text: string.required('The text: 1 to 20,000 characters.'),
    tags: strings('Tags that searches can filter by: at most 50, each at most 64 characters.'),
    metadata: json("JSON object for the client's own use, at most 64 KB. Empty by default."),
  }),
})

mutation('addPassages', {
  description:
    "Adds texts to an agent's archive, all or none. They are stored and found by their words at once. If the agent has an embedding model, they are embedded in the background, and again when the model changes.",
  input: {
    description: "Texts to add to an agent's archive.",
    fields: {
      agentId: id.required('Id of the agent.'),
      passages: of([PassageInput]).required('The texts, at most 1,000.'),
      idempotencyKey: idempotencyKeyField,
    },
  },
  result: payloadOf({ passages: of([Passage])('The new passages, in the order of the input.') }),
  async resolve(input, context) {
    const agentId = requireUuid('Agent', input.agentId)
    return { passages: await addPassages(context, context.viewer, { ...input, agentId }) }
  },
})

mutation('deletePassages', {
  description: 'Deletes passages, all or none.',
  input: {
    description: 'The passages to delete.',
    fields: { ids: ids.required('Ids of the passages, at most 1,000.') },
  },
  result: payloadOf({ deletedIds: ids('Ids of the deleted passages.') }),
  async resolve({ ids }, context) {
    const uuids = ids.map((id) => requireUuid('Passage', id))
    await deletePassages(context, context.viewer, { ids: uuids })
    return { deletedIds: ids }
  },
})
