import { builtHost } from './built-host.ts'
import { hostileTable } from './hostile-table.ts'

hostileTable({
  name: 'MCP client',
  ...(await builtHost('mcp-client', {})),
  without: {
    'the snapshot changes after the ask': 'it keeps none',
    'the host’s own approval step answers with a mistyped verdict': 'it has none',
  },
})
