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

// A colour of lines, darkened or lightened towards that of text until it can be read as text on the panel.
const LINE_IN_TEXT = 0.45;

export function asText(colour, ink) {
  const [line, text] = [channelsOf(colour), channelsOf(ink)];
  const mixed = line.map((channel, index) => Math.round(channel * LINE_IN_TEXT + text[index] * (1 - LINE_IN_TEXT)));
  return `rgb(${mixed.join(", ")})`;
}

const channelsOf = (colour) => (colour.startsWith("#") ? colour.match(/[0-9a-f]{2}/gi).map((pair) => parseInt(pair, 16)) : colour.match(/\d+/g).map(Number));

export function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}
