import { builtHost } from './built-host.ts'
import { DONE, hostileTable, REJECTED } from './hostile-table.ts'
import { ACME, call, OTHER } from './scene.ts'

hostileTable({
  name: 'Claude Agent SDK, canUseTool',
  ...(await builtHost('claude-agent-sdk', {})),
  without: {
    'the snapshot changes after the ask': 'the host keeps its session itself',
  },
  differs: {
    'the host’s own approval step answers with a mistyped verdict': {
      because: 'the host refuses it',
      told: [/invalid permission result/],
    },
    'two calls under one id, with other arguments': {
      because: 'the host tells the model of the first only',
      told: [DONE],
    },
    'two parallel calls, equal in all but the id': {
      because: 'the host asks about one after the other, and the first is done by then',
      async play(on) {
        on.start({ turns: [[call(ACME, 'call-1'), call(ACME, 'call-2')]] })
        await on.decide(ACME.order, 'approved')
        await on.decide(ACME.order, 'rejected')
        await on.ended()
      },
      told: [DONE, REJECTED],
      requests: ['rejected', 'approved'],
    },
    'two parallel calls, one rejected': {
      because: 'the host asks about one after the other',
      async play(on) {
        on.start({ turns: [[call(ACME, 'call-1'), call(OTHER, 'call-2')]] })
        await on.decide(ACME.order, 'approved')
        await on.decide(OTHER.order, 'rejected')
        await on.ended()
      },
    },
  },
})
