import { refundTool } from '../../../examples/agents/plain.ts'
import { follow } from './host.ts'

follow(async ({ cs, run, refund, turns, holds, told }) => {
  const tool = refundTool(cs, run, refund)
  for (const turn of turns) {
    const results = turn.map(({ id, arguments: input }) => {
      holds(input)
      return tool(input, id)
    })
    for (const [index, result] of results.entries()) told(turn[index]?.id ?? '', await result)
  }
})
