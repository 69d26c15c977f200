import type { RequestHandler } from 'express'

/** Answers of the API are for the one who asked, now. */
export const noStore: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store')
  next()
}
