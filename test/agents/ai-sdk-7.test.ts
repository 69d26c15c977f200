import { builtHost } from './built-host.ts'
import { hostileTable } from './hostile-table.ts'

hostileTable({ name: 'AI SDK 7', ...(await builtHost('ai-sdk-7', { node: 22 })) })
