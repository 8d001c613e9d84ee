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

export const defaultBlockCharLimit = 20_000
