import { checkedTags } from '../../domain/input.ts'
import { checkedPassageText, checkedQuery } from '../../domain/memory/passage.ts'
import type { Db } from '../../store/database/schema.ts'
import { searchPassages, type EmbedQuery } from '../../store/memory/search-passages.ts'
import { sumStoredBytes } from '../../store/files/files.ts'
import { cutText, textIn, type JsonObject } from '../../util/json.ts'
import type { Execution, ToolOutput } from '../execution.ts'

const maxTextLength = 4_000

/**
 * The checkpoint that stores the result also stores the text, so it is neither lost nor stored twice. A background run
 * works on the archive of the agent that it works for.
 */
export async function insertIntoArchive(
  db: Db,
  args: JsonObject,
  execution: Execution,
  tenantStorageBytes: number | undefined,
): Promise<ToolOutput> {
  const { tenantId } = execution.run
  if (tenantStorageBytes !== undefined && (await sumStoredBytes(db, tenantId)) > tenantStorageBytes)
    return { ok: false, output: 'The archive is full: what the tenant may store is used up. Nothing was stored.' }
  const text = checkedPassageText('content', textIn(args['content']))
  const passages = [{ agentId: ownerOf(execution), text, tags: tagsOf(args) }]
  return { ok: true, output: 'The text was stored in the archival memory.', passages }
}

export async function searchArchive(
  db: Db,
  args: JsonObject,
  execution: Execution,
  embed: EmbedQuery,
): Promise<ToolOutput> {
  const query = checkedQuery('query', textIn(args['query']))
  const limit = Number(args['limit'] ?? 10)
  const search = { agentId: ownerOf(execution), query, tags: tagsOf(args), limit, embed }
  const found = await searchPassages(db, execution.agent, search)
  if (found.length === 0) return { ok: true, output: 'No text was found in the archival memory.' }
  const texts = found.map(({ passage: { createdAt, text, tags: own } }) => ({
    at: createdAt.toISOString(),
    ...(own.length > 0 && { tags: own }),
    text: text.length > maxTextLength ? `${cutText(text, maxTextLength)} …` : text,
  }))
  return { ok: true, output: JSON.stringify(texts, null, 1) }
}

function ownerOf({ run, agent }: Execution): string {
  return run.request.foregroundAgentId ?? agent.id
}

function tagsOf(args: JsonObject): readonly string[] {
  return checkedTags('tags', Array.isArray(args['tags']) ? args['tags'].map(textIn) : [])
}
