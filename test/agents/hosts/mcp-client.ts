import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { callApproved } from '../../../examples/agents/mcp-client.ts'
import { follow } from './host.ts'

follow(async ({ cs, run, refund, turns, holds, told }) => {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  const inputSchema = z.object({ order: z.string(), amount: z.string() })
  server.registerTool('refund', { inputSchema }, async (input) => ({
    content: [{ type: 'text', text: await refund(input) }],
  }))
  const [near, far] = InMemoryTransport.createLinkedPair()
  await server.connect(far)
  const mcp = new Client({ name: 'agent', version: '1.0.0' })
  await mcp.connect(near)
  for (const turn of turns) {
    const results = turn.map((call) => {
      holds(call.arguments)
      return callApproved(cs, mcp, run, { name: 'refund', ...call })
    })
    for (const [index, result] of results.entries()) {
      const [part] = (await result).content
      told(turn[index]?.id ?? '', part?.type === 'text' ? part.text : '')
    }
  }
  await mcp.close()
})
