import { builtHost } from './built-host.ts'
import { DONE, hostileTable } from './hostile-table.ts'

hostileTable({
  name: 'AI SDK 6',
  ...(await builtHost('ai-sdk-6', { packages: { ai: 'ai-6' } })),
  differs: {
    'two calls under one id, with other arguments': {
      because: 'the host keeps one result for each id',
      told: [DONE],
    },
  },
})
