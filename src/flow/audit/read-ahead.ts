/**
 * Yields pages. The next page is read while this one is worked on, so that the store and its reader work at the same time.
 * @param next returns the position of the page after this one; undefined when it is the last
 */
export async function* readAhead<Page, Position>(
  read: (position: Position | undefined) => Promise<Page>,
  next: (page: Page) => Position | undefined,
): AsyncGenerator<Page> {
  for (let coming: Promise<Page> | undefined = read(undefined); coming !== undefined; ) {
    const page: Page = await coming
    const position = next(page)
    coming = position === undefined ? undefined : read(position)
    // Whoever stops early must not leave a rejection that nobody handles.
    coming?.catch(() => undefined)
    yield page
  }
}
