import { pythonTable } from './python-table.ts'

const KEEPS_NOTHING = {
  'the snapshot changes after the ask': 'it keeps none',
  'the host’s own approval step answers with a mistyped verdict': 'it has none',
} as const

pythonTable('plain', ['sys'], { name: 'plain Python', without: KEEPS_NOTHING })
pythonTable('mcp_client', ['mcp'], { name: 'a client of MCP (Python)', without: KEEPS_NOTHING })
pythonTable('langchain', ['langchain'], { name: 'LangChain (Python)', without: KEEPS_NOTHING })
