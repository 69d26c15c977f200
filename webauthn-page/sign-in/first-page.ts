import type { currentSessionAnswer } from '../../src/http/api/session.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { get } from '../kit/api/request.ts'
import { answer } from '../kit/api/shape.ts'
import { kept } from '../kit/dom/kept.ts'

/**
 * Returns the page that a person begins with: the overview for the owner of an account that is in use, else the inbox, which also
 * guides a new owner. @throws RequestFailure, ShapeError
 */
export async function firstPage(): Promise<string> {
  const { accounts } = await get('/session', currentSessionShape)
  const guided = kept('localStorage', 'countersign.first-run')
  if (accounts[0]?.role !== 'owner' || (guided !== null && !guided.startsWith('past '))) return '/'
  const { data } = await get('/account/api-keys', answer<{ data: readonly unknown[] }>())
  return data.length > 0 ? '/overview' : '/'
}

const currentSessionShape = answer<Answer<typeof currentSessionAnswer>>()
