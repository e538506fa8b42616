const $ = (id) => document.getElementById(id);
const tokenKey = "powersync-admin-token";

// Names come from strangers: they are only ever text.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) element.setAttribute(key, value);
  }
  element.append(...children.map((child) => child instanceof Node ? child : String(child)));
  return element;
}

const plain = new Intl.NumberFormat("en");
const rough = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const count = (number) => plain.format(number ?? 0);

const counted = (number, name) => `${count(number)} ${name}${number === 1 ? "" : "s"}`;

function bytes(number) {
  let value = number ?? 0;
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    if (value < 1024) return `${rough.format(value)} ${unit}`;
    value /= 1024;
  }
  return `${rough.format(value)} TiB`;
}

function duration(seconds) {
  const value = Math.max(0, seconds);
  if (value < 10) return `${rough.format(Math.round(value * 10) / 10)} s`;
  if (value < 120) return `${Math.round(value)} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  if (value < 172800) return `${Math.round(value / 3600)} h`;
  return `${Math.round(value / 86400)} days`;
}

const clockTime = (seconds) => new Date(seconds * 1000).toLocaleString("en", { hour12: false });

class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(path, options = {}) {
  const token = sessionStorage.getItem(tokenKey);
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  const response = await fetch(new URL(`dashboard/${path}`, location.href), { ...options, headers });
  if (response.ok) return response;
  let message = `The service answers with status ${response.status}`;
  try {
    const error = (await response.json()).error;
    message = [error.code, error.description, error.details].filter(Boolean).join(": ");
  } catch {}
  throw new RequestError(response.status, message);
}

const load = async (path, options) => (await (await request(path, options)).json()).data;

// Facts are a list of [term, value, remark].
function showFacts(list, facts) {
  const known = list.children;
  facts.forEach(([term, value, remark], index) => {
    if (!known[index]) list.append(make("div", {}, make("dt"), make("dd")));
    const [title, content] = known[index].children;
    setText(title, term);
    const key = `${value}|${remark ?? ""}`;
    if (content.dataset.key === key) return;
    content.dataset.key = key;
    content.className = String(value).length > 24 ? "long" : "";
    content.replaceChildren(String(value), ...(remark ? [" ", make("small", {}, remark)] : []));
  });
  while (known.length > facts.length) list.lastChild.remove();
}

function setText(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}

const badge = (kind, text) => ({ kind, text });

// Columns are [title, class, value of an item]. Rows stay where they are, so that what is selected stays selected.
class Table {
  constructor(table, caption, columns, empty) {
    this.columns = columns;
    this.empty = empty;
    this.body = make("tbody");
    const titles = columns.map(([title, style]) => make("th", { scope: "col", class: style }, title));
    table.append(make("caption", {}, caption), make("thead", {}, make("tr", {}, ...titles)), this.body);
  }

  show(items) {
    const rows = this.body.rows;
    if (!items.length) {
      this.body.replaceChildren(
        make("tr", {}, make("td", { colspan: this.columns.length, class: "empty" }, this.empty)));
      return;
    }
    if (rows[0]?.cells[0].className === "empty") this.body.replaceChildren();
    items.forEach((item, index) => {
      if (!rows[index]) {
        this.body.append(make("tr", {}, ...this.columns.map(([title, style]) =>
          make("td", { class: style, "data-label": title }, make("span")))));
      }
      this.columns.forEach(([, , value], column) => {
        const cell = rows[index].cells[column].firstChild;
        const content = value(item);
        setText(cell, content?.text ?? content ?? "");
        const style = content?.kind !== undefined ? `badge ${content.kind}` : "";
        if (cell.className !== style) cell.className = style;
      });
    });
    while (rows.length > items.length) this.body.lastChild.remove();
  }
}

// The parts of a list that is longer than a page.
class Pages {
  constructor(element, label, size, change) {
    Object.assign(this, { element, size, change, offset: 0 });
    this.back = make("button", { type: "button", "aria-label": `Earlier ${label}` }, "‹ Earlier");
    this.next = make("button", { type: "button", "aria-label": `Later ${label}` }, "Later ›");
    this.text = make("span", { role: "status" });
    element.append(this.back, this.text, this.next);
    this.back.addEventListener("click", () => this.go(Math.max(0, this.offset - size)));
    this.next.addEventListener("click", () => this.go(this.offset + size));
  }

  go(offset) {
    this.offset = offset;
    this.change();
  }

  show(total, shown) {
    if (total > 0 && this.offset >= total) return this.go(Math.floor((total - 1) / this.size) * this.size);
    this.element.hidden = total <= this.size;
    setText(this.text, `${count(this.offset + 1)} to ${count(this.offset + shown)} of ${count(total)}`);
    this.back.disabled = this.offset === 0;
    this.next.disabled = this.offset + shown >= total;
  }
}

function whenTyped(input, action) {
  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(action, 200);
  });
}
