// What is drawn: the last five minutes, a point a second, or the last hours, which the service has kept.
const ranges = { "5 min": 300, "1 h": 3600, "6 h": 21600 };
let range = ranges["5 min"];
// How long ago the first point is that the service has; of the last hours it has one every ten seconds.
const longest = ranges["6 h"];

class Plot {
  static namespace = "http://www.w3.org/2000/svg";

  constructor(title, format) {
    Object.assign(this, { title, format, points: [], selected: undefined });
    const shape = (name, attributes) => {
      const element = document.createElementNS(Plot.namespace, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    this.area = shape("polygon", {});
    this.line = shape("polyline", {});
    this.mark = shape("line", { class: "mark", y1: 0, y2: 63, visibility: "hidden" });
    this.svg = shape("svg", { viewBox: "0 0 300 64", preserveAspectRatio: "none", role: "img", tabindex: 0 });
    this.svg.append(shape("line", { x1: 0, y1: 63, x2: 300, y2: 63 }), this.area, this.line, this.mark);
    this.now = make("b");
    this.from = make("span");
    this.top = make("span", { class: "top", role: "status" });
    this.element = make("figure", {},
      make("figcaption", {}, make("span", {}, title), this.now),
      this.svg,
      make("p", {}, this.from, this.top, make("span", {}, "now")));
    this.svg.addEventListener("pointermove", (event) => {
      const box = this.svg.getBoundingClientRect();
      this.select(this.time - range * (1 - (event.clientX - box.left) / box.width));
    });
    for (const end of ["pointerleave", "blur"]) this.svg.addEventListener(end, () => this.select(undefined));
    this.svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined || !this.shown?.length) return;
      event.preventDefault();
      const at = this.selected === undefined ? this.shown.length - 1 : this.nearest(this.selected);
      this.select(this.shown[Math.min(this.shown.length - 1, Math.max(0, at + step))].time);
    });
  }

  // The index of the point that is shown and nearest to a time.
  nearest(time) {
    let best = 0;
    this.shown.forEach((point, index) => {
      if (Math.abs(point.time - time) < Math.abs(this.shown[best].time - time)) best = index;
    });
    return best;
  }

  select(time) {
    this.selected = time;
    if (this.time !== undefined) this.draw(this.time);
  }

  // What the service did before the page was opened.
  begin(points) {
    const first = this.points[0]?.time ?? Infinity;
    this.points = [...points.filter((point) => point.time < first), ...this.points];
    if (this.time !== undefined) this.draw(this.time);
  }

  add(time, value) {
    this.points.push({ time, value });
    while (this.points[0].time < time - longest) this.points.shift();
    // Of what is older than the shortest range, one point in ten seconds is enough.
    const old = this.points.findIndex((point) => point.time > time - ranges["5 min"]);
    if (old > 1 && this.points[old - 1].time - this.points[old - 2].time < 9) this.points.splice(old - 1, 1);
    this.draw(time);
  }

  draw(time) {
    this.time = time;
    const shown = this.shown = this.points.filter((point) => point.time >= time - range && Number.isFinite(point.value));
    const top = Math.max(0, ...shown.map((point) => point.value));
    const x = (point) => (300 - (time - point.time) / range * 300).toFixed(1);
    const y = (point) => (63 - (top > 0 ? point.value / top : 0) * 60).toFixed(1);
    const line = shown.map((point) => `${x(point)},${y(point)}`).join(" ");
    this.line.setAttribute("points", line);
    this.area.setAttribute("points", shown.length ? `${x(shown[0])},63 ${line} ${x(shown.at(-1))},63` : "");
    const value = this.points.at(-1)?.value;
    const now = Number.isFinite(value) ? this.format(value) : "unknown";
    setText(this.now, now);
    const name = Object.keys(ranges).find((each) => ranges[each] === range);
    setText(this.from, `${name} ago`);
    const point = this.selected !== undefined && shown.length ? shown[this.nearest(this.selected)] : undefined;
    this.mark.setAttribute("visibility", point ? "visible" : "hidden");
    if (point) for (const end of ["x1", "x2"]) this.mark.setAttribute(end, x(point));
    setText(this.top, point ? `${this.format(point.value)} at ${clockTime(point.time).split(", ").at(-1)}`
      : `at most ${this.format(top)}`);
    this.svg.setAttribute("aria-label",
      `${this.title}: now ${now}, in the last ${name} at most ${this.format(top)}; arrow keys show values`);
  }
}

const perSecond = (value) => `${rough.format(value)}/s`;
const plots = {
  lag: new Plot("Lag behind the source", duration),
  rows: new Plot("Rows replicated", perSecond),
  sent: new Plot("Operations sent", perSecond),
  streams: new Plot("Open streams", count),
};
$("plots").append(...Object.values(plots).map((plot) => plot.element));

for (const [name, seconds] of Object.entries(ranges)) {
  const button = make("button", { type: "button", "aria-pressed": seconds === range }, name);
  button.addEventListener("click", () => {
    range = seconds;
    for (const each of $("ranges").children) each.setAttribute("aria-pressed", each === button);
    for (const plot of Object.values(plots)) plot.select(undefined);
  });
  $("ranges").append(button);
}

// Points of the service, of which those that only grow become rates.
function beginPlots(points) {
  const rate = (key) => points.slice(1).map((point, index) => {
    const seconds = point.time - points[index].time;
    return { time: point.time, value: seconds > 0 && seconds < 60 ? Math.max(0, point[key] - points[index][key]) / seconds : NaN };
  });
  plots.lag.begin(points.map((point) => ({ time: point.time, value: point.lag ?? NaN })));
  plots.streams.begin(points.map((point) => ({ time: point.time, value: point.streams })));
  plots.rows.begin(rate("rows"));
  plots.sent.begin(rate("sent"));
}
