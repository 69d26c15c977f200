/** The one answer that Slack takes to what it sent. */
export interface ReplyOnce {
  given(): boolean
  /** @returns false when there was an answer already: this one reaches nobody */
  give(body?: unknown): Promise<boolean>
}

/** Wraps an `ack`: Bolt's throws at the second answer over HTTP and drops it in Socket Mode. */
export function replyOnce(ack: (body?: unknown) => Promise<void>): ReplyOnce {
  let given = false
  return {
    given: () => given,
    async give(body) {
      if (given) return false
      given = true
      await ack(body)
      return true
    },
  }
}
