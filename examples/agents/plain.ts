// Plain TypeScript: your own loop around a model. The tool asks, and uses the approval up, in its own body.
import { type Client, CountersignError } from '@countersign/client'

export interface Refund {
  order: string
  amount: string
}

/** @param act does it. @returns a tool: its result for the model, which is a sentence where nothing was done */
export function refundTool(cs: Client, run: string, act: (input: Refund) => Promise<string>) {
  const refund = cs.tool('refund', (input: Refund, _callId: string) => act(input), {
    // The run and the call: a run that starts again finds its request.
    for: (_input, callId) => [run, callId],
    // A model that repeats a call gives it a new id: an equal request that is still open is joined.
    fields: { reuse: 'open' },
  })
  return async (input: Refund, callId: string): Promise<string> =>
    refund(input, callId).catch((error) => {
      if (error instanceof CountersignError) return error.sentence
      throw error
    })
}
