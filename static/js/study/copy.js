// Copying to the clipboard: where the browser refuses it, the text is selected instead, ready for Ctrl-C.

export async function copy(text, button, source) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    if (source instanceof HTMLInputElement) source.select();
    else if (source) getSelection().selectAllChildren(source);
    button.textContent = source ? "Press Ctrl-C" : "Not allowed here";
  }
  setTimeout(() => {
    button.textContent = before;
  }, 2000);
}
