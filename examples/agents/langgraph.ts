// LangChain 1.5 and LangGraph 1.7. The person is asked, and the approval used up, in the tool's own body. The checkpointer keeps the
// model's call before the tool runs: after a crash, `invoke(null, …)` with the same thread goes on with it, and asks nobody twice.
import { type Client, CountersignError } from '@countersign/client'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { BaseCheckpointSaver } from '@langchain/langgraph'
import { createAgent, type ToolRuntime, tool } from 'langchain'
import { z } from 'zod'

const refundInput = z.object({ order: z.string(), amount: z.string() })
type Refund = z.infer<typeof refundInput>

export function refundTool(cs: Client, run: string, act: (input: Refund) => Promise<string>) {
  const refund = cs.tool('refund', (input: Refund, _callId: string) => act(input), {
    for: (_input, callId) => [run, callId],
    // A model that repeats a call gives it a new id: an equal request that is still open is joined.
    fields: { reuse: 'open' },
  })
  return tool(
    (input, { toolCallId }: ToolRuntime) =>
      refund(input, toolCallId).catch((error) => {
        // LangChain adds “Please fix your mistakes” to what is thrown.
        if (error instanceof CountersignError) return error.sentence
        throw error
      }),
    { name: 'refund', description: 'Refund an order', schema: refundInput },
  )
}

export const agentOf = (
  model: BaseChatModel,
  refund: ReturnType<typeof refundTool>,
  checkpointer: BaseCheckpointSaver,
) => createAgent({ model, tools: [refund], checkpointer })
