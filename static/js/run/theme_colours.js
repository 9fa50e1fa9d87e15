// The theme's colours as plotly.js wants them: resolved, since it reads no CSS variables.

const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);

function resolved(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

export function colours() {
  const names = ["ink", "soft", "line", "panel", "band"];
  const font = getComputedStyle(document.body).fontFamily;
  return { ...Object.fromEntries(names.map((name) => [name, resolved(name)])), font };
}

export function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}
