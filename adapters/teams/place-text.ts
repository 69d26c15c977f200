import { z } from 'zod'
import type { BotPlace } from './bot-port.ts'

const placeSchema = z.object({
  kind: z.enum(['person', 'group', 'channel']),
  service_url: z.string(),
  conversation_id: z.string(),
})

/** A place as JSON text, for the store. */
export function writePlace({ kind, service_url, conversation_id }: BotPlace): string {
  return JSON.stringify({ kind, service_url, conversation_id })
}

/** @returns undefined for what this version did not write */
export function readPlace(text: string): BotPlace | undefined {
  try {
    const read = placeSchema.safeParse(JSON.parse(text))
    return read.success ? read.data : undefined
  } catch {
    return undefined
  }
}
