import { execFile, spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { z } from 'zod'
import { type Mishap, startBadNetwork } from '../../packages/client/test/bad-network.ts'
import { type RealService, startRealService } from '../../packages/client/test/real-service.ts'
import { packagePath } from '../../src/config/package-path.ts'

/** CI names the one that it has set up, with all that the tests need. */
export const PYTHON = process.env.COUNTERSIGN_PYTHON ?? 'python3'

/** Whether there is a Python that the package supports. */
export const hasPython =
  spawnSync(PYTHON, ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0 ||
  process.env.COUNTERSIGN_PYTHON !== undefined

/** What a run of Python printed and how it ended. */
export interface Ran {
  code: number | string | null
  out: string
  err: string
}

/** Runs Python on the sources of the package. */
export function runPython(args: string[], env: Record<string, string> = {}): Promise<Ran> {
  const cwd = packagePath('python')
  const own = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    PYTHONPATH: 'src',
    PYTHONDONTWRITEBYTECODE: '1',
  }
  return new Promise((resolve) => {
    execFile(PYTHON, args, { cwd, env: { ...own, ...env } }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out, err }),
    )
  })
}

const mishap = z.union([
  z.enum(['lose', 'cut', 'never']),
  z.object({ status: z.number(), headers: z.record(z.string(), z.string()), body: z.string() }),
])

/** What the tests in Python ask this process to do. */
const order = z.discriminatedUnion('do', [
  z.object({ do: z.literal('key'), sandbox: z.boolean() }),
  z.object({
    do: z.literal('decide'),
    id: z.string(),
    decision: z.enum(['approved', 'rejected']),
    comment: z.string(),
  }),
  z.object({ do: z.literal('requests'), key: z.string() }),
  z.object({ do: z.literal('restart'), signal: z.enum(['SIGTERM', 'SIGKILL']) }),
  z.object({ do: z.literal('spoil'), path: z.string(), mishaps: z.array(mishap) }),
  z.object({ do: z.literal('calm') }),
  z.object({ do: z.literal('seen') }),
])

/** A service, a network in front of it on which calls go wrong, and an address at which Python orders either. */
export async function startPythonSetting() {
  const service = await startRealService()
  const network = await startBadNetwork(service.url)
  const server = createServer(async (request, response) => {
    try {
      const done = await follow(order.parse(await json(request)))
      response.end(JSON.stringify(done ?? null))
    } catch (error) {
      response.writeHead(500).end(String(error))
    }
  })
  const follow = (one: z.infer<typeof order>): unknown => {
    switch (one.do) {
      case 'key':
        return service.newKey(one.sandbox)
      case 'decide':
        return decide(service, one)
      case 'requests':
        return service.requestsOf(one.key)
      case 'restart':
        return service.restart(one.signal)
      case 'spoil':
        return network.spoil(new RegExp(one.path), ...(one.mishaps satisfies Mishap[]))
      case 'calm':
        network.seen.length = 0
        return network.calm()
      case 'seen':
        return network.seen
    }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    env: {
      COUNTERSIGN_TEST_CONTROL: `http://127.0.0.1:${port}`,
      COUNTERSIGN_TEST_NETWORK: network.url,
      COUNTERSIGN_TEST_SERVICE: service.url,
    },
    async close() {
      server.closeAllConnections()
      server.close()
      network.close()
      await service.close()
    },
  }
}

function decide(
  service: RealService,
  { id, decision, comment }: Extract<z.infer<typeof order>, { do: 'decide' }>,
): Promise<void> {
  return service.decide(id, decision, comment || undefined)
}
