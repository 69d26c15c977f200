/** Another live process (or another store in this one) holds the data directory. */
export class StoreLockedError extends Error {
  readonly code = 'STORE_LOCKED'
  /** The holder, or 0 if it has not said yet. */
  readonly pid: number
  readonly socketPath?: string

  constructor(directory: string, holder?: { pid: number; socketPath: string }) {
    super(
      holder === undefined
        ? `the data directory ${directory} is held by another store`
        : `the data directory ${directory} is held by the store of process ${holder.pid}`,
    )
    this.name = 'StoreLockedError'
    this.pid = holder?.pid ?? 0
    if (holder !== undefined) this.socketPath = holder.socketPath
  }
}
