import type { Request, RequestHandler, Response } from 'express'

const looks = new WeakMap<Response, () => Promise<void>>()

/**
 * Who is let in is asked before the body is read, so that strangers' bodies are not. A client can hold its body back until
 * the service cuts it off; what was true of its session or key at the head may not be at the end (T23, T54).
 * @param look asks again, and throws the refusal if the answer is another
 */
export function lookAgainAfterBody(request: Request, response: Response, look: () => Promise<void>): void {
  if (!request.complete) looks.set(response, look)
}

/** Once the body is there: who sent it late is asked for again who they are. */
export const lookAgain: RequestHandler = async (_request, response, next) => {
  await looks.get(response)?.()
  next()
}
