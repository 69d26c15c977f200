import { createInterface } from 'node:readline'
import { type Client, countersign } from '@countersign/client'

export type Refund = { order: string; amount: string }

/** A run that a row of the table orders; `hostile-table.ts` says what its members mean. */
export interface Run {
  id: string
  run: string
  turns: { id: string; arguments: Refund }[][]
  state: string
  patience?: { withinSeconds?: number; unreachableAfterSeconds?: number }
  verdict?: 'mistyped'
  cs: Client
  /** What the tool does. */
  refund(input: Refund): Promise<string>
  /** The host program calls it with the objects that the host passes to tools, for rows that change them. */
  holds(input: Refund): void
  told(call: string, text: string): void
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

/** Follows orders on stdin until they end. */
export function follow(play: (run: Run) => Promise<void>): void {
  const held = new Map<string, Refund[]>()
  const orders = createInterface({ input: process.stdin })
  orders.on('close', () => process.exit())
  orders.on('line', async (text) => {
    const { do: order, url, key, hold, fields, ...run } = JSON.parse(text)
    const { id, patience = {} } = run
    if (order === 'change') {
      for (const input of held.get(id) ?? []) input.order = run.order
      return
    }
    const inputs: Refund[] = []
    held.set(id, inputs)
    const { unreachableAfterSeconds, withinSeconds } = patience
    const cs = countersign({ url, key, unreachableAfterSeconds })
    const error = await play({
      ...run,
      // What the example leaves to its default.
      cs: {
        ...cs,
        tool: (name, act, options) =>
          cs.tool(name, act, { withinSeconds, ...options, fields: { ...options.fields, ...fields } }),
      },
      async refund(input) {
        say({ id, event: 'ran', arguments: input })
        if (hold) await new Promise(() => {})
        return `refunded ${input.order}`
      },
      holds: (input) => inputs.push(input),
      told: (call, text) => say({ id, event: 'told', call, text }),
    }).catch(String)
    say({ id, event: 'ended', ...(error && { error }) })
  })
}
