export interface Block {
  readonly id: string
  readonly tenantId: string
  readonly label: string
  readonly value: string
  readonly description: string | null
  readonly charLimit: number
  readonly version: number
  readonly readOnly: boolean
  /** The conversation that this isolated copy belongs to. Null for any other block. */
  readonly conversationId: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A new value for a block, computed from the value of its version `expectedVersion`. */
export interface BlockWrite {
  readonly blockId: string
  readonly value: string
  readonly expectedVersion: number
}

export const defaultBlockCharLimit = 20_000

/** A block of an agent. */
export function newBlock(
  settings: Pick<Block, 'label' | 'value' | 'description' | 'charLimit' | 'readOnly'>,
  made: Pick<Block, 'id' | 'tenantId' | 'createdAt'>,
): Block {
  return { ...settings, ...made, version: 1, conversationId: null, updatedAt: made.createdAt }
}

/** The conversation's own copy of an agent's block, starting with its current value. */
export function isolatedCopy(
  block: Block,
  { id, of, now }: { readonly id: string; readonly of: { readonly id: string }; readonly now: Date },
): Block {
  return { ...block, id, conversationId: of.id, version: 1, createdAt: now, updatedAt: now }
}
