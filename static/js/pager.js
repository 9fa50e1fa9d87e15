// Arrow keys turn the pages of a firm's days or turns, unless something on the page uses them itself.

addEventListener("keydown", (event) => {
  const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  if (!rel || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target.closest("input, select, textarea, pre, [tabindex]:not(main)")) return;
  document.querySelector(`a[rel="${rel}"]`)?.click();
});
