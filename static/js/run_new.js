// The presets of the form: each fills in who plays.

document.getElementById("errors")?.focus();

document.getElementById("players").addEventListener("click", (event) => {
  const button = event.target.closest("[data-preset]");
  if (!button) return;
  const players = JSON.parse(button.previousElementSibling.textContent);
  for (const [name, player] of Object.entries(players)) {
    const field = document.getElementById(`id_${name}`);
    if (field) field.value = player;
  }
});
