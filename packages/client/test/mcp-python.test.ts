import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { START_MS } from '../../../test/support/patience.ts'
import { useHostileSetting } from './hostile-setting.ts'

/** A Python with version 2 of the official package `mcp`, such as `.ci/run` makes. */
const { MCP_PYTHON = 'python3' } = process.env
const missing = spawnSync(MCP_PYTHON, ['-c', 'from mcp import Client']).status !== 0

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const on = useHostileSetting()

function startPython(...args: string[]): { heard: unknown[]; ended: Promise<unknown> } {
  const child = spawn(MCP_PYTHON, [path('mcp-client.py'), ...args], {
    env: {
      PATH: process.env.PATH,
      COUNTERSIGN_URL: on.network.url,
      COUNTERSIGN_KEY: on.key,
      COMMAND: path('../bin/countersign.js'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const heard: unknown[] = []
  createInterface({ input: child.stdout }).on('line', (line) => heard.push(JSON.parse(line)))
  return { heard, ended: new Promise((resolve) => child.on('close', resolve)) }
}

const title = missing ? `is not tested: ${MCP_PYTHON} has no package mcp` : "Python's own client"

describe.skipIf(missing)(title, () => {
  it.each([
    ['HTTP', 'auto'],
    ['HTTP', 'legacy'],
    ['stdio', 'auto'],
  ])('over %s, %s: asks, joins, waits over a restart, and uses the approval once', async (door, mode) => {
    const { heard, ended } = startPython(door, mode)
    await expect.poll(() => heard.length, { timeout: START_MS }).toBe(3)
    const request_id = await on.asked()
    // A newer client repeats a call by itself, with the state of the round before.
    await on.waiting(mode === 'auto' ? /"requestState"/ : /"wait_seconds":\s*1/)
    await on.service.restart('SIGKILL')
    await on.service.decide(request_id, 'approved')
    expect(await ended).toBe(0)
    expect(heard).toMatchObject([
      ['cancel_approval', 'consume_approval', 'get_receipt', 'request_approval', 'wait_for_decision'],
      { isError: false, request_id, status: 'pending' },
      { isError: false, request_id, status: 'pending', next: expect.stringContaining('wait_for_decision') },
      { isError: false, request_id, status: 'approved', used: false },
      { isError: true, error: 'mismatch', field: 'context' },
      { isError: false, request_id, status: 'approved', used: true },
      { isError: true, error: 'already_consumed' },
      { isError: false, request_id, status: 'used', receipt: { decision: 'approved' } },
    ])
    expect(await on.service.requestsOf(on.key)).toHaveLength(1)
  })
})
