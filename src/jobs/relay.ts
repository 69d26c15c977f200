import type { Relay } from '../flow/delivery/relay-traces.ts'
import type { Sweep } from './sweep.ts'

/** Carries on what a process left behind that died between a write and its relay. */
export function relaySweep(relay: Pick<Relay, 'nudge'>): Sweep {
  const run = async () => {
    relay.nudge()
    return undefined
  }
  return { run, between: { least: 1_000, most: 10_000 } }
}
