import { el } from '../dom/element.ts'
import { type Field, field } from '../dom/field.ts'

const COMMENT_LIMIT = 1000

/** What the person says to the caller; kept in `draft` while they write. */
export function commentField(draft: { comment: string }, hint: string): Field {
  const comment = field({
    label: 'Comment (optional)',
    name: 'comment',
    hint,
    multiline: true,
    attributes: { maxlength: COMMENT_LIMIT, spellcheck: 'true' },
  })
  const counter = el('p', { class: 'counter' })
  const update = (): void => {
    draft.comment = comment.input.value
    counter.textContent = `${comment.input.value.length} of ${COMMENT_LIMIT} characters`
  }
  comment.input.value = draft.comment
  comment.input.addEventListener('input', update)
  comment.row.append(counter)
  update()
  return comment
}
