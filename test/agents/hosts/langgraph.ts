import { readFileSync, writeFileSync } from 'node:fs'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, type BaseMessage, isToolMessage } from '@langchain/core/messages'
import { Command, MemorySaver } from '@langchain/langgraph'
import { createAgent, humanInTheLoopMiddleware } from 'langchain'
import { agentOf, refundTool } from '../../../examples/agents/langgraph.ts'
import { follow, type Run } from './host.ts'

follow(async (run) => {
  const model = new MockModel(run)
  const tool = refundTool(run.cs, run.run, run.refund)
  const { func } = tool
  tool.func = (input, ...rest) => {
    run.holds(input)
    return func(input, ...rest)
  }
  const saver = new FileSaver(run.state)
  const thread = { configurable: { thread_id: run.run } }
  const input = { messages: [{ role: 'user', content: 'Refund it' }] }
  if (run.verdict) {
    const middleware = [humanInTheLoopMiddleware({ interruptOn: { refund: true } })]
    const careful = createAgent({ model, tools: [tool], checkpointer: saver, middleware })
    await careful.invoke(input, thread)
    // Nobody was asked. (A decision of another type, LangChain refuses.)
    await careful.invoke(new Command({ resume: { decisions: [{ type: 'approve' }] } }), thread)
    return
  }
  await agentOf(model, tool, saver).invoke(saver.resumed ? null : input, thread)
})

/** Keeps the checkpoints in a file, in which their text can be read and changed. */
class FileSaver extends MemorySaver {
  readonly resumed: boolean
  readonly #path: string
  constructor(path: string) {
    super()
    this.#path = path
    const kept = read(path)
    this.resumed = kept !== undefined
    Object.assign(this, kept)
  }
  override async put(...args: Parameters<MemorySaver['put']>) {
    const done = await super.put(...args)
    this.#keep()
    return done
  }
  override async putWrites(...args: Parameters<MemorySaver['putWrites']>) {
    await super.putWrites(...args)
    this.#keep()
  }
  #keep(): void {
    const { storage, writes } = this
    const asText = (_: string, value: unknown) =>
      value instanceof Uint8Array ? { bytes: new TextDecoder().decode(value) } : value
    writeFileSync(this.#path, JSON.stringify({ storage, writes }, asText))
  }
}

function read(path: string): object | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'), (_, value) =>
      typeof value?.bytes === 'string' ? new TextEncoder().encode(value.bytes) : value,
    )
  } catch {
    return undefined
  }
}

/** Says the calls of each turn, and tells what it was told. */
class MockModel extends BaseChatModel {
  readonly #run: Run
  #heard = 0
  constructor(run: Run) {
    super({})
    this.#run = run
  }
  _llmType(): string {
    return 'mock'
  }
  override bindTools(): this {
    return this
  }
  async _generate(messages: BaseMessage[]) {
    const results = messages.filter(isToolMessage)
    for (const { tool_call_id, text } of results.slice(this.#heard)) this.#run.told(tool_call_id, text)
    this.#heard = results.length
    const turn = this.#run.turns[messages.filter(({ type }) => type === 'ai').length] ?? []
    const calls = turn.map(({ id, arguments: args }) => ({ id, name: 'refund', args: { ...args } }))
    const message = new AIMessage({ content: calls.length ? '' : 'done', tool_calls: calls })
    return { generations: [{ text: '', message }] }
  }
}
