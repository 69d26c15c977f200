// OpenAI Agents SDK 0.20. The person is asked, and the approval used up, in the tool's own body: `needsApproval` only makes the host
// stop between the model and the tool, so that its state can be saved. It runs what that state then says, changed or not.
import { type Client, CountersignError } from '@countersign/client'
import { type Agent, type AgentInputItem, type RunState, run, tool } from '@openai/agents'
import { z } from 'zod'

const refundInput = z.object({ order: z.string(), amount: z.string() })
type Refund = z.infer<typeof refundInput>

export function refundTool(cs: Client, runId: string, act: (input: Refund) => Promise<string>) {
  const refund = cs.tool('refund', (input: Refund, _callId: string) => act(input), {
    for: (_input, callId) => [runId, callId],
    // A model that repeats a call gives it a new id: an equal request that is still open is joined.
    fields: { reuse: 'open' },
  })
  return tool({
    name: 'refund',
    description: 'Refund an order',
    parameters: refundInput,
    needsApproval: true,
    execute: (input, _context, details) => refund(input, details?.toolCall?.callId ?? ''),
    // Without it the model is only told to try again.
    errorFunction: (_context, error) => (error instanceof CountersignError ? error.sentence : String(error)),
  })
}

/** After a crash, call it with `RunState.fromString(agent, saved)`: nobody is asked twice. */
export async function go(
  agent: Agent,
  input: AgentInputItem[] | RunState<undefined, Agent>,
  save: (state: string) => Promise<void>,
) {
  let result = await run(agent, input)
  while (result.interruptions.length > 0) {
    // The host's own yes means "go on": the tool asks.
    for (const interruption of result.interruptions) result.state.approve(interruption)
    await save(result.state.toString())
    result = await run(agent, result.state)
  }
  return result.finalOutput
}
