import { useClient } from '../../react/client-context.ts'
import { newKey } from '../../client/new-key.ts'
import { UploadFile } from '../../client/documents.ts'
import { readAsDataUrl } from './stored-file.ts'
import { useKept } from './use-kept.ts'

export interface Upload {
  readonly key: string
  readonly name: string
  readonly size: number
  /** The id of the stored file. Undefined while it is on its way, and if that failed. */
  readonly fileId?: string
  readonly problem?: string
}

export interface Uploads {
  readonly list: readonly Upload[]
  /** Ids of the files that have arrived, in the order in which they were chosen. */
  readonly ready: readonly string[]
  readonly isBusy: boolean
  add(files: Iterable<File>): void
  remove(key: string): void
  clear(): void
}

/** Keys of the uploads that go on, also while the person looks at another page. A reload ends them. */
const underWay = new Set<string>()
const lost = 'The page was left before this file had arrived. Attach it again.'

/** Files that a person attaches to the next message. Each is stored as soon as it is chosen. */
export function useUploads(conversationId: string): Uploads {
  const client = useClient()
  const [kept = [], setKept] = useKept<readonly Upload[]>(`files.${conversationId}`)
  const setList = (change: (before: readonly Upload[]) => readonly Upload[]): void =>
    setKept((before = []) => {
      const after = change(before)
      return after.length > 0 ? after : undefined
    })
  const list = kept.map((one) => (one.fileId || one.problem || underWay.has(one.key) ? one : { ...one, problem: lost }))

  async function upload(key: string, file: File): Promise<void> {
    const set = (part: Partial<Upload>): void =>
      setList((before) => before.map((one) => (one.key === key ? { ...one, ...part } : one)))
    underWay.add(key)
    try {
      const dataUrl = await readAsDataUrl(file)
      const { uploadFile } = await client.request(UploadFile, { input: { conversationId, dataUrl, name: file.name } })
      set({ fileId: uploadFile!.file.id })
    } catch (error) {
      set({ problem: error instanceof Error ? error.message : String(error) })
    } finally {
      underWay.delete(key)
    }
  }

  return {
    list,
    ready: list.flatMap(({ fileId }) => fileId ?? []),
    isBusy: list.some(({ fileId, problem }) => fileId === undefined && problem === undefined),
    add(files) {
      for (const file of files) {
        const key = newKey()
        void upload(key, file)
        setList((before) => [...before, { key, name: file.name, size: file.size }])
      }
    },
    remove: (key) => setList((before) => before.filter((one) => one.key !== key)),
    clear: () => setKept(undefined),
  }
}
