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

// What is counted, as it stands behind the number.
const noun = (number, name) => number === 1 ? name : `${name}s`;
const counted = (number, name) => `${count(number)} ${noun(number, name)}`;

// About how much of a table has been copied, where the source knows how many rows it has. Only the end of the copy is all of it.
const copiedShare = (copy) => copy.estimatedRows > 0
  ? `, about ${Math.min(99, Math.floor(100 * copy.rows / copy.estimatedRows))} %` : "";

function bytes(number) {
  let value = number ?? 0;
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    if (value < 1024) return `${rough.format(value)} ${value === 1 && unit === "bytes" ? "byte" : unit}`;
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

// Columns are [title, class, value of an item, what to sort by]. Rows stay where they are, so that what is selected stays selected.
// Without something to sort by, it is the text; a click or Enter on a title sorts what is shown, once more turns it around.
class Table {
  constructor(table, caption, columns, empty, isOpenable = false) {
    Object.assign(this, { columns, empty, isOpenable, sorted: undefined, items: [] });
    this.body = make("tbody");
    this.titles = columns.map(([title, style], index) => {
      const button = make("button", { type: "button", class: "sort" }, title);
      button.addEventListener("click", () => this.sortBy(index));
      return make("th", { scope: "col", class: style }, button);
    });
    table.append(make("caption", {}, caption), make("thead", {}, make("tr", {}, ...this.titles)), this.body);
  }

  sortBy(index) {
    const isUp = this.sorted?.index === index ? !this.sorted.isUp : this.columns[index][1] !== "number";
    this.sorted = { index, isUp };
    this.titles.forEach((title, each) => {
      if (each === index) title.setAttribute("aria-sort", isUp ? "ascending" : "descending");
      else title.removeAttribute("aria-sort");
    });
    this.show(this.items);
  }

  inOrder(items) {
    if (!this.sorted) return items;
    const { index, isUp } = this.sorted;
    const [, , value, key] = this.columns[index];
    const text = (item) => value(item)?.text ?? value(item) ?? "";
    const order = (a, b) => {
      const [x, y] = key ? [key(a), key(b)] : [text(a), text(b)];
      if (typeof x === "number" || typeof y === "number") return (x ?? -Infinity) - (y ?? -Infinity);
      return String(x ?? "").localeCompare(String(y ?? ""), "en", { numeric: true });
    };
    return [...items].sort((a, b) => isUp ? order(a, b) : order(b, a));
  }

  row() {
    const row = make("tr", {}, ...this.columns.map(([title, style]) =>
      make("td", { class: style, "data-label": title }, make("span"))));
    if (this.isOpenable) {
      // On a phone a row is one line until it is opened.
      row.tabIndex = 0;
      const open = () => row.classList.toggle("open");
      row.addEventListener("click", () => { if (!String(getSelection())) open(); });
      row.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
    }
    return row;
  }

  show(items) {
    this.items = items;
    const rows = this.body.rows;
    if (!items.length) {
      this.body.replaceChildren(
        make("tr", {}, make("td", { colspan: this.columns.length, class: "empty" }, this.empty)));
      return;
    }
    if (rows[0]?.cells[0].className === "empty") this.body.replaceChildren();
    this.inOrder(items).forEach((item, index) => {
      if (!rows[index]) this.body.append(this.row());
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
