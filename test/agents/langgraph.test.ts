import { builtHost } from './built-host.ts'
import { hostileTable } from './hostile-table.ts'

hostileTable({ name: 'LangChain and LangGraph', ...(await builtHost('langgraph', {})) })
