// The presets of the form: each fills in who plays, and perhaps more.

document.getElementById("errors")?.focus();

document.getElementById("players").addEventListener("click", (event) => {
  const button = event.target.closest("[data-preset]");
  if (!button) return;
  const fields = JSON.parse(button.previousElementSibling.textContent);
  const settings = document.getElementById("id_settings");
  const typed = settings.value;
  for (const [name, value] of Object.entries(fields)) {
    const field = document.getElementById(`id_${name}`);
    if (field && !field.disabled) field.value = value;
  }
  // Other settings may seat other firms.
  if (settings.value !== typed) settings.dispatchEvent(new Event("change", { bubbles: true }));
});
