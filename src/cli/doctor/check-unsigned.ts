import { type Check, fail, ok } from './check.ts'

const TIMEOUT_MS = 5_000

/** Where a chat platform sends to, and something that it would never send: nobody signed it. */
export interface UnsignedCall {
  name: string
  platform: string
  address: string
  body: RequestInit['body']
  headers?: Record<string, string>
}

/** Does our own address refuse what is not signed? Whether the platform's network gets here only the platform can try. */
export async function checkUnsigned(call: UnsignedCall): Promise<Check> {
  const { name, platform, address } = call
  const status = await statusOf(call)
  switch (status) {
    case 401:
      return ok(name, `${address} refuses what is not signed`)
    case undefined: {
      const fix = 'Start the service, and let BASE_URL lead to it, from the internet too.'
      return fail(name, `nobody answers at ${address}`, fix)
    }
    case 404: {
      const fix = `Restart the service with these settings: what runs there has no ${platform}. Or BASE_URL leads elsewhere.`
      return fail(name, `nothing is there: ${address} answers 404`, fix)
    }
    default: {
      const fix = 'Let BASE_URL lead to this service: a proxy must pass requests on as they are.'
      return fail(name, `${address} answers ${status} instead of 401`, fix)
    }
  }
}

/** @returns undefined when nobody answers */
export async function statusOf({
  address,
  body,
  headers = {},
}: Pick<UnsignedCall, 'address' | 'body' | 'headers'>): Promise<number | undefined> {
  try {
    const response = await fetch(address, {
      method: 'POST',
      redirect: 'manual',
      headers,
      body: body ?? null,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await response.body?.cancel()
    return response.status
  } catch {
    return undefined
  }
}
