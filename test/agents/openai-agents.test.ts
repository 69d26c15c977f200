import { builtHost } from './built-host.ts'
import { approved, DONE, hostileTable } from './hostile-table.ts'
import { ACME, call, OTHER } from './scene.ts'

hostileTable({
  name: 'OpenAI Agents',
  ...(await builtHost('openai-agents', {})),
  differs: {
    'two calls under one id, with other arguments': {
      because: 'the host refuses an id that comes again',
      play: (on) => approved(on, { turns: [[call(ACME)], [call(OTHER)]] }),
      ran: [ACME],
      told: [DONE],
      requests: ['approved'],
      errors: [/reused for a different invocation/],
    },
  },
})
