// Putting fresh pieces of the desk in their places: what was unfolded stays so, the focus stays where it was.

export function swap(place, html) {
  if (place.lastHtml === html) return;
  place.lastHtml = html;
  const folds = new Map([...place.querySelectorAll("details[data-key]")].map((one) => [one.dataset.key, one.open]));
  const loaded = new Map([...place.querySelectorAll("details[data-loaded]")].map((one) => [one.dataset.key, one.lastElementChild]));
  const focused = markOf(place);
  const { scrollTop } = place.closest(".column");
  place.innerHTML = html; // rendered and escaped by the server
  for (const one of place.querySelectorAll("details[data-key]")) {
    if (folds.has(one.dataset.key)) one.open = folds.get(one.dataset.key);
    const list = loaded.get(one.dataset.key);
    if (list) {
      one.lastElementChild.replaceWith(list);
      one.dataset.loaded = "";
    }
  }
  place.closest(".column").scrollTop = scrollTop;
  if (focused) focusAgain(place, focused);
}

// How to find what has the focus in the next version of a piece: by what it does, else by its place among buttons.
function markOf(place) {
  const element = document.activeElement;
  if (!place.contains(element)) return null;
  const buttons = [...place.querySelectorAll("button, summary")];
  return { act: element.dataset.act, arguments: element.dataset.arguments, place: buttons.indexOf(element) };
}

function focusAgain(place, mark) {
  const buttons = [...place.querySelectorAll("button, summary")];
  const same = buttons.find((one) => mark.act && one.dataset.act === mark.act && one.dataset.arguments === mark.arguments);
  (same ?? buttons[Math.min(mark.place, buttons.length - 1)] ?? place.closest(".column")).focus({ preventScroll: true });
}
