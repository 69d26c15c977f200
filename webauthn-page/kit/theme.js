// Before anything is drawn: the theme that the reader chose in this browser (`dashboard/account/times.ts`). Without one, CSS follows the system.
{
  let theme
  try {
    theme = localStorage.getItem('theme')
  } catch {}
  if (theme === 'light' || theme === 'dark') {
    document.documentElement.dataset.theme = theme
    for (const meta of document.querySelectorAll('meta[name="theme-color"]'))
      meta.media = meta.media.includes(theme) ? 'all' : 'not all'
  }
}
