// Filling the marked places of a piece of the page. Text goes in as text, whatever is in it.

export const slot = (element, name) => element.querySelector(`[data-slot="${name}"]`);

export function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

export function paint(element, style) {
  element.style.setProperty("--light", style?.light ?? "");
  element.style.setProperty("--dark", style?.dark ?? "");
  element.dataset.dash = style?.dash ?? "";
}
