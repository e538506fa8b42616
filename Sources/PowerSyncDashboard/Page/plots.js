class Plot {
  static seconds = 300;
  static namespace = "http://www.w3.org/2000/svg";

  constructor(title, format) {
    Object.assign(this, { title, format, points: [] });
    const shape = (name, attributes) => {
      const element = document.createElementNS(Plot.namespace, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    this.area = shape("polygon", {});
    this.line = shape("polyline", {});
    this.svg = shape("svg", { viewBox: "0 0 300 64", preserveAspectRatio: "none", role: "img" });
    this.svg.append(shape("line", { x1: 0, y1: 63, x2: 300, y2: 63 }), this.area, this.line);
    this.now = make("b");
    this.top = make("span", { class: "top" });
    this.element = make("figure", {},
      make("figcaption", {}, make("span", {}, title), this.now),
      this.svg,
      make("p", {}, make("span", {}, "5 min ago"), this.top, make("span", {}, "now")));
  }

  add(time, value) {
    // Nobody has looked meanwhile.
    if (this.points.length && time - this.points.at(-1).time > 10) this.points = [];
    this.points.push({ time, value });
    while (this.points[0].time < time - Plot.seconds) this.points.shift();
    this.draw(time);
  }

  draw(time) {
    const known = this.points.filter((point) => Number.isFinite(point.value));
    const top = Math.max(0, ...known.map((point) => point.value));
    const x = (point) => (300 - (time - point.time)).toFixed(1);
    const y = (point) => (63 - (top > 0 ? point.value / top : 0) * 60).toFixed(1);
    const line = known.map((point) => `${x(point)},${y(point)}`).join(" ");
    this.line.setAttribute("points", line);
    this.area.setAttribute("points", known.length ? `${x(known[0])},63 ${line} ${x(known.at(-1))},63` : "");
    const value = this.points.at(-1).value;
    const now = Number.isFinite(value) ? this.format(value) : "unknown";
    setText(this.now, now);
    setText(this.top, `at most ${this.format(top)}`);
    this.svg.setAttribute("aria-label",
      `${this.title}: now ${now}, in the last five minutes at most ${this.format(top)}`);
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
