// A server of the official SDK that speaks revision 2026-07-28, and asks back before it deploys.
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const confirmation = z.object({ confirm: z.boolean() })

serveStdio(() => {
  const server = new McpServer({ name: 'modern', version: '1' })
  const about = { description: 'Deploys.', inputSchema: z.object({ env: z.string() }) }
  server.registerTool('deploy', about, async ({ env }, { mcpReq }) => {
    if (acceptedContent(mcpReq.inputResponses, 'confirm', confirmation)?.confirm === true)
      return { content: [{ type: 'text', text: `deployed to ${env}` }] }
    const confirm = inputRequired.elicit({ message: `Deploy to ${env}?`, requestedSchema: confirmation })
    return inputRequired({ inputRequests: { confirm } })
  })
  return server
})
