// Claude Agent SDK 0.3.332, `canUseTool`: for its own tools (Bash, Edit) and those of MCP servers. It is not called for tools that
// `allowedTools` or settings allow. Where the tool is your own, let its body ask instead, as in the other examples.
import type { CanUseTool } from '@anthropic-ai/claude-agent-sdk'
import { type Client, CountersignError } from '@countersign/client'

export function approvals(cs: Client, run: string): CanUseTool {
  return async (name, input, { toolUseID, signal }) => {
    // The copy that the person saw goes back to the host, which runs that.
    const approved = cs.tool(name, (seen: typeof input) => seen, {
      for: () => [run, toolUseID],
      // A model that repeats a call gives it a new id: an equal request that is still open is joined.
      fields: { reuse: 'open' },
      signal,
    })
    try {
      return { behavior: 'allow', updatedInput: await approved(input) }
    } catch (error) {
      if (error instanceof CountersignError) return { behavior: 'deny', message: error.sentence }
      throw error
    }
  }
}
