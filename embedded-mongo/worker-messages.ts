/** What the store's thread tells the thread that started it. Any message the other way means "close". */
export type WorkerReport =
  | { kind: 'ready'; socketPath: string }
  | { kind: 'locked'; pid: number; socketPath?: string }
  | { kind: 'failed'; message: string }
  | { kind: 'closed' }
