import { hostileTable } from './hostile-table.ts'
import { pythonHost } from './python-host.ts'

const without = {
  'the snapshot changes after the ask': 'it keeps none',
  'the host’s own approval step answers with a mistyped verdict': 'it has none',
} as const

hostileTable({ name: 'plain Python', ...pythonHost('plain', []), without })
hostileTable({ name: 'MCP client (Python)', ...pythonHost('mcp_client', ['mcp']), without })
hostileTable({ name: 'LangChain (Python)', ...pythonHost('langchain', ['langchain']), without })
