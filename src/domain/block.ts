export interface Block {
  readonly id: string
  readonly tenantId: string
  readonly label: string
  readonly value: string
  readonly description: string | null
  readonly charLimit: number
  readonly version: number
  readonly readOnly: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A new value for a block, made from the value that it had as `expectedVersion`. */
export interface BlockWrite {
  readonly blockId: string
  readonly value: string
  readonly expectedVersion: number
}

export const defaultBlockCharLimit = 20_000
