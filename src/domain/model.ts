/** A model that this server can reach, by its handle: provider/name. */
export interface Model {
  readonly handle: string
  readonly provider: string
  readonly contextWindow: number
}

/** The models that the configuration can reach. Asking it calls nobody. */
export interface ModelCatalog {
  list(): readonly Model[]
  find(handle: string): Model | undefined
}
