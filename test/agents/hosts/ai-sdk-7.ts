import { readFile, writeFile } from 'node:fs/promises'
import { generateText, stepCountIs, type ToolSet } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { go, refundTool } from '../../../examples/agents/ai-sdk-7.ts'
import { follow, type Run } from './host.ts'

follow(async (run) => {
  const model = mockModel(run)
  const made = refundTool(run.cs, run.run, run.refund)
  const { execute } = made
  const refund: typeof made = {
    ...made,
    execute(input, options) {
      run.holds(input)
      return execute?.(input, options) ?? ''
    },
  }
  const user = { role: 'user' as const, content: 'Refund it' }
  if (run.verdict) {
    const tools: ToolSet = { refund }
    const toolApproval = { refund: { type: 'aproved' } as never }
    await generateText({ model, tools, messages: [user], toolApproval, stopWhen: stepCountIs(9) })
    return
  }
  const saved = await readFile(run.state, 'utf8').catch(() => undefined)
  const messages = saved === undefined ? [user] : JSON.parse(saved)
  await go(model, { refund }, messages, (kept) => writeFile(run.state, JSON.stringify(kept)))
})

/** Says the calls of each turn, and tells what it was told. */
function mockModel({ turns, told }: Run): MockLanguageModelV4 {
  let heard = 0
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  return new MockLanguageModelV4({
    async doGenerate({ prompt }) {
      const results = prompt
        .flatMap(({ role, content }) => (role === 'tool' ? content : []))
        .filter((part) => part.type === 'tool-result')
      for (const { toolCallId, output } of results.slice(heard))
        told(toolCallId, 'value' in output ? String(output.value) : JSON.stringify(output))
      heard = results.length
      const turn = turns[prompt.filter(({ role }) => role === 'assistant').length]
      return {
        content: turn
          ? turn.map(({ id, arguments: input }) => ({
              type: 'tool-call',
              toolCallId: id,
              toolName: 'refund',
              input: JSON.stringify(input),
            }))
          : [{ type: 'text', text: 'done' }],
        finishReason: { unified: turn ? 'tool-calls' : 'stop', raw: undefined },
        usage,
        warnings: [],
      }
    },
  })
}
