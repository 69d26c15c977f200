// MCP client (@modelcontextprotocol/client 2.4): calls of tools behind servers that others wrote. The person is asked, and the
// approval used up, right before the call goes out.
import { type Client, CountersignError } from '@countersign/client'
import type { CallToolResult, Client as McpClient } from '@modelcontextprotocol/client'

type Arguments = Record<string, unknown>

/** Instead of `mcp.callTool`, for tools that need approval. @param callId the model's id of the call */
export async function callApproved(
  cs: Client,
  mcp: McpClient,
  run: string,
  call: { id: string; name: string; arguments: Arguments },
): Promise<CallToolResult> {
  const approved = cs.tool(
    call.name,
    (input: Arguments) => mcp.callTool({ name: call.name, arguments: input }),
    {
      for: () => [run, call.id],
      // A model that repeats a call gives it a new id: an equal request that is still open is joined.
      fields: { reuse: 'open' },
    },
  )
  return approved(call.arguments).catch((error) => {
    if (error instanceof CountersignError)
      return { content: [{ type: 'text', text: error.sentence }], isError: true }
    throw error
  })
}
