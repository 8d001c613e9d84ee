import type { StoredFile } from '../domain/files/file.ts'
import { decodeId } from '../domain/ids.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { findFiles, readFiles } from '../store/files/files.ts'
import type { Db } from '../store/database/schema.ts'
import { requireScope } from './require-scope.ts'

/** A file for someone who may read it. */
export interface OpenedFile extends Pick<StoredFile, 'key' | 'name' | 'mediaType' | 'sizeBytes'> {
  /** Undefined if the file was deleted in the meantime. */
  read(): Promise<Buffer | undefined>
}

/** Undefined if the viewer can reach no file with this id. Throws FORBIDDEN without the scope READ. */
export async function openFile(db: Db, viewer: Viewer, id: string): Promise<OpenedFile | undefined> {
  requireScope(viewer, ['READ'], 'Downloading a file')
  const place = decodeId(id)
  if (place?.kind !== 'File') return undefined
  const [file] = await findFiles(db, viewer, [place])
  return file && { ...file, read: async () => (await readFiles(db, [file]))[0]?.bytes }
}
