// AI SDK 6 (ai 6.0.326). The person is asked, and the approval used up, in the tool's own body: `needsApproval` only makes the host
// stop between the model and the tool, so that the messages can be saved. It runs what the messages then say, changed or not.
import type { Client } from '@countersign/client'
import { generateText, type LanguageModel, type ModelMessage, type ToolExecutionOptions, tool } from 'ai'
import { z } from 'zod'

const refundInput = z.object({ order: z.string(), amount: z.string() })
type Refund = z.infer<typeof refundInput>

export const refundTool = (cs: Client, run: string, act: (input: Refund) => Promise<string>) =>
  tool({
    description: 'Refund an order',
    inputSchema: refundInput,
    needsApproval: true,
    execute: cs.tool('refund', (input: Refund, _host: ToolExecutionOptions) => act(input), {
      for: (_input, { toolCallId }) => [run, toolCallId],
      // A model that repeats a call gives it a new id: an equal request that is still open is joined.
      fields: { reuse: 'open' },
    }),
  })

/** Goes on from `messages` to the model's last word. After a crash, call it with what was saved last: nobody is asked twice. */
export async function go(
  model: LanguageModel,
  tools: { refund: ReturnType<typeof refundTool> },
  messages: ModelMessage[],
  save: (messages: ModelMessage[]) => Promise<void>,
): Promise<string> {
  for (;;) {
    const step = await generateText({ model, tools, messages })
    messages.push(...step.response.messages)
    const stops = step.content.filter((part) => part.type === 'tool-approval-request')
    if (stops.length === 0) return step.text
    // The host's own yes means "go on": the tool asks.
    const content = stops.map(({ approvalId }) => ({
      type: 'tool-approval-response' as const,
      approvalId,
      approved: true,
    }))
    messages.push({ role: 'tool', content })
    await save(messages)
  }
}
