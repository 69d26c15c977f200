import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { type CanUseTool, createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk'
import { z } from 'zod'
import { approvals } from '../../../examples/agents/claude-agent-sdk.ts'
import { follow, type Run } from './host.ts'

/** `asked`: how often the model was; `heard`: how many results it was told. */
type Asked = Run & { asked: number; heard: number }

const runs = new Map<string, Asked>()
const home = mkdtempSync(join(tmpdir(), 'claude-'))
const model = createServer(async (request, response) => {
  const [, id = ''] = /^\/(\d+)\/v1\/messages\?/.exec(request.url ?? '') ?? []
  const run = runs.get(id)
  if (run) answer(run, (await json(request)) as Conversation, response)
  else response.writeHead(404).end()
})
model.listen(0, '127.0.0.1')
await once(model, 'listening')
const { port } = model.address() as AddressInfo

follow(async (run) => {
  runs.set(run.id, { ...run, asked: 0, heard: 0 })
  const shop = createSdkMcpServer({
    name: 'shop',
    version: '1.0.0',
    tools: [
      tool('refund', 'Refund an order', { order: z.string(), amount: z.string() }, async (input) => ({
        content: [{ type: 'text', text: await run.refund(input) }],
      })),
    ],
  })
  const decide = approvals(run.cs, run.run)
  const canUseTool: CanUseTool = async (name, input, options) => {
    run.holds(input as never)
    const verdict = await decide(name, input, options)
    return run.verdict ? ({ ...verdict, behavior: 'alow' } as never) : verdict
  }
  const env = {
    PATH: process.env.PATH,
    TMPDIR: process.env.TMPDIR,
    HOME: home,
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}/${run.id}`,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }
  const own = { cwd: home, model: 'claude-sonnet-4-5', tools: [], settingSources: [], env }
  for await (const message of query({
    prompt: 'Refund it',
    options: { ...own, mcpServers: { shop }, canUseTool },
  }))
    if (message.type === 'result' && message.is_error) throw new Error(JSON.stringify(message))
})

type Block = { type: string; tool_use_id?: string; content?: unknown }
interface Conversation {
  messages: { role: string; content: string | Block[] }[]
}

/** The model: says the calls of each turn, and tells what it was told. */
function answer(run: Asked, { messages }: Conversation, response: ServerResponse): void {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const results = blocks.filter(({ type }) => type === 'tool_result')
  for (const { tool_use_id = '', content } of results.slice(run.heard)) run.told(tool_use_id, textOf(content))
  run.heard = results.length
  // Not by the messages: the host leaves out those with an id that came before.
  const turn = run.turns[run.asked]
  run.asked += 1
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  const usage = { input_tokens: 1, output_tokens: 1 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'mock', content: [], usage }
  send('message_start', { message })
  const say = (index: number, content_block: object, delta: object) => {
    send('content_block_start', { index, content_block })
    send('content_block_delta', { index, delta })
    send('content_block_stop', { index })
  }
  if (!turn) say(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'done' })
  for (const [index, { id, arguments: input }] of turn?.entries() ?? [])
    say(
      index,
      { type: 'tool_use', id, name: 'mcp__shop__refund', input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    )
  send('message_delta', { delta: { stop_reason: turn ? 'tool_use' : 'end_turn' }, usage })
  send('message_stop', {})
  response.end()
}

/** Without what the host says about itself. */
function textOf(content: unknown): string {
  const text = Array.isArray(content) ? String(content[0]?.text) : String(content)
  return text.replace(/<system-reminder>[\s\S]*/, '').trim()
}
