import { approved, hostileTable, startWithChangedSnapshot } from './hostile-table.ts'
import { pythonHost } from './python-host.ts'
import { ACME, call, OTHER } from './scene.ts'

// Hosts that pause a run before the tool, and keep it.
hostileTable({
  name: 'LangGraph (Python)',
  ...pythonHost('langgraph', ['langgraph', 'langchain']),
  without: {
    'nobody decides in time; the model repeats the call under a new id':
      'the graph sleeps until somebody has',
  },
})

hostileTable({
  name: 'OpenAI Agents (Python)',
  ...pythonHost('openai_agents', ['agents']),
  differs: {
    'the snapshot changes after the ask': {
      because: 'the host refuses a changed snapshot',
      async play(on) {
        await startWithChangedSnapshot(on)
        await on.ended()
      },
      told: [],
      requests: ['approved'],
      errors: [/reused a (completed )?tool call ID/],
    },
    'two calls under one id, with other arguments': {
      because: 'the host refuses an id that comes again',
      play: (on) => approved(on, { turns: [[call(ACME)], [call(OTHER)]] }),
      ran: [ACME],
      told: [],
      requests: ['approved'],
      errors: [/reused a (completed )?tool call ID/],
    },
  },
})
