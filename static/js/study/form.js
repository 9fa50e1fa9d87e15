// The form of a study: a preset fills in its fields, and leaves all else as it was typed.

document.getElementById("errors")?.focus();

document.getElementById("study-form").addEventListener("click", (event) => {
  const button = event.target.closest("[data-preset]");
  if (!button) return;
  event.preventDefault();
  const fields = JSON.parse(button.previousElementSibling.textContent);
  for (const [name, value] of Object.entries(fields)) {
    document.getElementById(`id_${name}`).value = value;
  }
});
