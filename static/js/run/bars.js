// Bars on top of each other as one outline for each trace: hundreds of single ones cost plotly.js most of its time.
//
// What one points at is an invisible point on top of each bar, which says what the bar would. Where names in a legend
// take bars away, the others have to fall into place, so bars stay bars.

export function outlined(traces, layout) {
  if (layout.barmode !== "stack" || layout.showlegend) return traces;
  const tops = new Map(); // how high bars stand already, by axis and day
  return traces.flatMap((trace) => (trace.type === "bar" ? outlineOf(trace, 1 - (layout.bargap ?? 0), tops) : [trace]));
}

function outlineOf(bar, usualWidth, tops) {
  const half = (bar.width ?? usualWidth) / 2;
  const [outline, ends] = [{ x: [], y: [] }, []];
  bar.x.forEach((day, index) => {
    const place = `${bar.yaxis ?? "y"} ${day}`;
    const low = tops.get(place) ?? 0;
    const high = low + bar.y[index];
    tops.set(place, high);
    ends.push(high);
    if (high === low) return;
    // Along the axis to the bar, up to it, around it and back: outlines with gaps are drawn one by one again.
    const [left, right] = [day - half, day + half];
    outline.x.push(left, left, right, right, left, left);
    outline.y.push(0, high, high, low, low, 0);
  });
  const { name, yaxis, meta, customdata } = bar;
  const { color, pattern } = bar.marker;
  const filled = { type: "scatter", mode: "none", name, yaxis, meta, fill: "toself", fillcolor: color };
  const hovertemplate = bar.hovertemplate.replaceAll("%{y", "%{text");
  return [
    { ...filled, ...outline, line: { simplify: false }, hoverinfo: "skip", fillpattern: { ...pattern, bgcolor: color } },
    { ...filled, x: apart(bar.x), y: apart(ends), text: apart(bar.y), customdata: customdata && apart(customdata), hovertemplate, hoveron: "points" },
  ];
}

// Between two points nothing is filled.
const apart = (values) => values.flatMap((value) => [value, null]);
