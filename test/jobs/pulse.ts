import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { Worker } from '../support/worker.ts'

/** What a healthy machine and store never need for one beat; only a halt of everything takes longer. */
const HALT_MS = 250

/** How long the machine or the store held everything up, known from small writes, one after the other, beside the work. */
export interface Pulse {
  /** Milliseconds between these two moments of the local clock in which nothing went on. */
  heldUp(from: number, to: number): number
}

/** Feels it until the test ends: being late is the fault of the work only as far as there was a beat meanwhile. */
export function feelPulse(worker: Worker): Pulse {
  const halts: { from: number; to: number }[] = []
  let over = false
  const beat = async (): Promise<void> => {
    const from = Date.now()
    const before = process.cpuUsage()
    await worker.stored('pulse').updateOne({ _id: 'pulse' }, { $set: { from } }, { upsert: true })
    await pause(20)
    const { user, system } = process.cpuUsage(before)
    // The service computes in this very process: for that it has no excuse.
    const own = (user + system) / 1_000
    const to = Date.now()
    if (to - from - own > HALT_MS) halts.push({ from: from + own, to })
  }
  const beating = (async () => {
    while (!over) await beat()
  })()
  onTestFinished(async () => {
    over = true
    await beating
  })
  return {
    heldUp: (from, to) =>
      halts.reduce((sum, halt) => sum + Math.max(0, Math.min(to, halt.to) - Math.max(from, halt.from)), 0),
  }
}
