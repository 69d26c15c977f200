import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'

/** The first page of a list, or what the service said about one of the filters. */
export type Found<Page> =
  | { page: Page; wrong?: undefined }
  | { page?: undefined; wrong: { name: string; sentence: string } }

/** Loads a list; a refusal that names one of the filters is no failure of the page. @throws RequestFailure, ShapeError */
export async function findPage<Page>(
  names: readonly string[],
  load: () => Promise<Page>,
): Promise<Found<Page>> {
  try {
    return { page: await load() }
  } catch (error) {
    const name = error instanceof RequestFailure ? error.field : undefined
    if (name === undefined || !names.includes(name)) throw error
    return { wrong: { name, sentence: sentenceOf(error) } }
  }
}
