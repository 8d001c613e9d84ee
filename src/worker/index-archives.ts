import { encodeId } from '../domain/ids.ts'
import type { OpenDatabase } from '../store/database/open-database.ts'
import { tendArchiveIndexes } from '../store/memory/archive-indexes.ts'
import type { Log } from '../util/log.ts'

/** How many passages the search by bits is made for. */
const mostByBits = 50_000

/** Returns a function that tends the indexes of large archives, or says once that the database needs pgvector for them. */
export function createArchiveIndexer(
  { database, log }: { readonly database: OpenDatabase; readonly log: Log },
  { above = mostByBits } = {},
): (stop: AbortSignal) => Promise<void> {
  let isSaid = false
  return async (stop) => {
    const archive = await tendArchiveIndexes(database, { above, stop })
    if (!archive || isSaid) return
    isSaid = true
    const facts = { agentId: encodeId('Agent', archive.agentId), passages: archive.passages }
    log.warn(facts, 'an archive is large: its searches get faster with pgvector 0.8, by CREATE EXTENSION vector')
  }
}
