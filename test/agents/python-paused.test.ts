import { pythonTable } from './python-table.ts'

// Hosts that pause a run before the tool, and keep it.
pythonTable('langgraph', ['langgraph', 'langchain'], {
  name: 'LangGraph (Python)',
  without: {
    'nobody decides in time; the model repeats the call under a new id':
      'the graph sleeps until somebody has',
  },
})

pythonTable('openai_agents', ['agents'], {
  name: 'OpenAI Agents (Python)',
  without: {
    'the snapshot changes after the ask': 'it refuses a changed snapshot itself',
    'two calls under one id, with other arguments': 'it refuses the second one itself',
    'the host’s own approval step answers with a mistyped verdict':
      'its step has methods instead of words, and the example approves every pause',
  },
})
