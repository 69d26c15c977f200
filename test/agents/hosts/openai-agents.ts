import { readFile, writeFile } from 'node:fs/promises'
import {
  Agent,
  type AgentInputItem,
  type Model,
  type ModelRequest,
  RunState,
  setTracingDisabled,
  Usage,
} from '@openai/agents'
import { go, refundTool } from '../../../examples/agents/openai-agents.ts'
import { follow, type Run } from './host.ts'

setTracingDisabled(true)

follow(async (run) => {
  const tool = refundTool(run.cs, run.run, (input) => run.refund(input))
  const agent = new Agent({
    name: 'support',
    model: new MockModel(run),
    tools: [run.verdict ? { ...tool, needsApproval: async () => undefined as never } : tool],
  })
  const saved = await readFile(run.state, 'utf8').catch(() => undefined)
  const input: AgentInputItem[] = [{ role: 'user', content: 'Refund it' }]
  const state =
    saved === undefined ? undefined : await RunState.fromString<undefined, typeof agent>(agent, saved)
  await go(agent, state ?? input, (text) => writeFile(run.state, text))
})

/** Says the calls of each turn, and tells what it was told. */
class MockModel implements Model {
  #heard = 0
  readonly run: Run
  constructor(run: Run) {
    this.run = run
  }
  async getResponse({ input }: ModelRequest) {
    const items = typeof input === 'string' ? [] : input
    const results = items.filter((item) => item.type === 'function_call_result')
    for (const { callId, output } of results.slice(this.#heard)) {
      const text = typeof output === 'object' && 'text' in output ? output.text : output
      this.run.told(callId, String(text))
    }
    this.#heard = results.length
    const turn = this.run.turns.find((_, index) => this.#said(items) === index)
    const calls = turn?.map(({ id, arguments: args }) => ({
      type: 'function_call' as const,
      callId: id,
      name: 'refund',
      status: 'completed' as const,
      arguments: JSON.stringify(args),
    }))
    const goodbye = {
      type: 'message' as const,
      role: 'assistant' as const,
      status: 'completed' as const,
      content: [{ type: 'output_text' as const, text: 'done' }],
    }
    return { usage: new Usage(), output: calls ?? [goodbye] }
  }
  getStreamedResponse(): never {
    throw new Error('not used')
  }
  /** How many turns are over. */
  #said(items: AgentInputItem[]): number {
    let calls = items.filter((item) => item.type === 'function_call').length
    let turns = 0
    for (const turn of this.run.turns) {
      if (calls < turn.length) break
      calls -= turn.length
      turns += 1
    }
    return turns
  }
}
