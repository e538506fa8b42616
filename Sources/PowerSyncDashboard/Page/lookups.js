const pageSize = 50;

// Answers may come in another order than requests: only the last one counts.
function latest(ask, show, fail) {
  let number = 0;
  return async () => {
    const mine = ++number;
    try {
      const answer = await ask();
      if (mine === number) show(answer);
    } catch (error) {
      if (error.status === 401) signOut();
      else if (mine === number && error.status) fail(error.message);
    }
  };
}

const part = (search, pages) =>
  new URLSearchParams({ search: $(search).value, offset: pages.offset, limit: pageSize });

const loadClients = latest(
  () => load(`clients?${part("client-search", clientPages)}`),
  (list) => {
    if (!snapshot) return;
    clientTable.show(list.clients);
    clientPages.show(list.total, list.clients.length);
  },
  (message) => showState("bad", message));
const clientPages = new Pages($("client-pages"), "clients", pageSize, loadClients);
whenTyped($("client-search"), () => clientPages.go(0));

const bucketTable = new Table($("bucket-table"), "Buckets with the most operations first", [
  ["Bucket", "name", (bucket) => bucket.name],
  ["Operations", "number", (bucket) => count(bucket.operations), (bucket) => bucket.operations],
  ["Size", "number", (bucket) => bucket.bytes === undefined ? "not measured" : bytes(bucket.bytes),
    (bucket) => bucket.bytes],
], "There is no such bucket.");
let bucketTotal = 0;
const loadBuckets = latest(
  () => load(`buckets?${part("bucket-search", bucketPages)}`),
  (list) => {
    bucketTotal = list.total;
    bucketTable.show(list.buckets);
    bucketPages.show(list.total, list.buckets.length);
    setText($("bucket-summary"), `${counted(list.total, "bucket")} with ${counted(list.operations, "operation")}`);
  },
  (message) => {
    bucketTable.show([]);
    setText($("bucket-summary"), message);
  });
const bucketPages = new Pages($("bucket-pages"), "buckets", pageSize, loadBuckets);
whenTyped($("bucket-search"), () => bucketPages.go(0));

const usageTable = new Table($("usage-table"), "The largest buckets of each stream", [
  ["Stream", undefined, (bucket) => bucket.stream],
  ["Bucket", "name", (bucket) => bucket.name],
  ["Rows", "number", (bucket) => bucket.rows === undefined ? "not counted" : count(bucket.rows), (bucket) => bucket.rows],
  ["Operations", "number", (bucket) => count(bucket.operations), (bucket) => bucket.operations],
  ["Size", "number", (bucket) => bucket.bytes === undefined ? "not measured" : bytes(bucket.bytes),
    (bucket) => bucket.bytes],
], "There are no buckets.");
const loadUsage = latest(
  () => load("streams"),
  (usage) => {
    usageTable.show(usage.streams.flatMap((stream) =>
      stream.largest.map((bucket) => ({ ...bucket, stream: stream.name }))));
    setText($("usage-summary"), usage.buckets < usage.total
      ? `Of the ${count(usage.buckets)} largest of ${counted(usage.total, "bucket")}` : "");
  },
  (message) => setText($("usage-summary"), message));

const recentTable = new Table($("recent-table"), "Connected in the last six hours, those that have left last first", [
  ["User", "name", (client) => client.user],
  ["Client", "name", (client) => client.client ?? ""],
  ["Left", "number", (client) => `${duration(Date.now() / 1000 - client.lastSeen)} ago`, (client) => client.lastSeen],
  ["First seen", "number", (client) => clockTime(client.firstSeen), (client) => client.firstSeen],
  ["Connections", "number", (client) => count(client.streams), (client) => client.streams],
  ["Sent", "number", (client) => `${counted(client.operations, "op")}, ${bytes(client.bytes)}`, (client) => client.bytes],
  ["Program", undefined, (client) => client.agent],
], "Nobody has left.", true);
const loadRecent = latest(
  () => load(`recent?${new URLSearchParams({ offset: recentPages.offset, limit: pageSize })}`),
  (list) => {
    recentTable.show(list.clients);
    recentPages.show(list.total, list.clients.length);
  },
  (message) => showState("bad", message));
const recentPages = new Pages($("recent-pages"), "clients that have left", pageSize, loadRecent);

let service;
const loadService = latest(
  () => load("service"),
  (facts) => {
    service = facts;
    showService();
  },
  (message) => showState("bad", message));
function showService() {
  if (!service) return;
  showFacts($("service-facts"), [
    ["Version", service.version], ["Role", service.role],
    ["Runs for", duration(Date.now() / 1000 - service.startedAt)],
    ...Object.entries(service.limits).map(([name, limit]) =>
      [name, name.endsWith("bytes") ? bytes(limit) : count(limit)]),
  ]);
}

const loadHistory = latest(() => load("history"), beginPlots, (message) => showState("bad", message));

const loadConfig = latest(
  () => load("config"),
  showConfig,
  (message) => $("config-content").replaceChildren(make("p", { class: "error" }, message)));

function showConfig(data) {
  config = data;
  showService();
  if (snapshot) showBanner();
  const content = $("config-content");
  const open = [...content.querySelectorAll("details[open]")].map((details) => details.dataset.name);
  const parts = [];
  const findings = (title, errors) => {
    if (!errors?.length) return;
    const list = make("ul", { class: "findings", "aria-label": title });
    showFindings(list, errors);
    parts.push(list);
  };
  for (const connection of data.connections ?? []) {
    parts.push(make("p", {},
      make("span", { class: `badge ${connection.connected ? "good" : "bad"}` },
        connection.connected ? "connected" : "not connected"),
      ` ${connection.postgres_uri}`));
    findings("Source", connection.errors);
  }
  const part = (name, title, entry) => {
    if (!entry) return;
    parts.push(make("h3", {}, title));
    const errors = (entry.connections ?? []).flatMap((connection) => {
      const tables = connection.tables ?? [];
      if (connection.replication_lag_bytes !== undefined) {
        parts.push(make("p", {}, `${bytes(connection.replication_lag_bytes)} of the source's log are not replicated.`));
      }
      if (tables.length) {
        parts.push(make("p", {}, `Tables: ${tables.map((table) => `${table.schema}.${table.name}`).join(", ")}`));
      }
      return tables.flatMap((table) => table.errors ?? []);
    }).concat(entry.errors ?? []);
    findings(title, errors);
    if (!errors.length) parts.push(make("p", {}, make("span", { class: "badge good" }, "no findings")));
    if (entry.content === undefined) return;
    const details = make("details", { "data-name": name },
      make("summary", {}, "Text"), make("pre", { tabindex: 0, role: "region", "aria-label": title }, entry.content));
    details.open = open.includes(name) || (!content.dataset.shown && name === "active");
    parts.push(details);
  };
  // Without its storage, the service does not know which there are.
  findings("Storage", data.storage?.errors);
  if (!data.active_sync_rules && !data.storage) parts.push(make("p", {}, "No sync config is active: clients get PSYNC_S2302."));
  part("active", "Active sync config", data.active_sync_rules);
  part("deploying", "Sync config that is being deployed", data.deploying_sync_rules);
  part("rejected", "Sync config that was refused", data.rejected_sync_rules);
  content.dataset.shown = "yes";
  // What somebody reads or selects stays as it is while nothing changes.
  const next = make("div", {}, ...parts);
  if (next.textContent !== content.textContent) content.replaceChildren(...next.childNodes);
}

function json(id, kind) {
  const text = $(id).value.trim();
  if (!text) return undefined;
  const label = document.querySelector(`label[for=${id}]`).textContent;
  try {
    const value = JSON.parse(text);
    if (Array.isArray(value) === (kind === "array") && typeof value === "object" && value) return value;
  } catch {}
  $(id).focus();
  throw new Error(`${label}: this is not a JSON ${kind}`);
}

function readRequest() {
  const parameters = json("user-parameters", "object");
  const subscriptions = json("user-subscriptions", "array") ?? [];
  const streams = {
    include_defaults: $("user-defaults").checked,
    subscriptions: subscriptions.map((each) => ({ parameters: null, override_priority: null, ...each })),
  };
  return { parameters, streams };
}

async function preview() {
  const body = { user_id: $("user-id").value, ...readRequest() };
  body.claims = json("user-claims", "object");
  return load("user", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
}

// Rows are shown to who also has the token that the backend gives the user.
async function previewRows() {
  const token = $("user-token").value;
  if (!token) return undefined;
  const { parameters, streams } = readRequest();
  return load("rows", {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token, parameters, streams }),
  });
}

function showRows(answer) {
  const table = make("table", { id: "user-rows" });
  $("user-result").append(table);
  new Table(table, answer.rows.length < answer.total
    ? `The first ${count(answer.rows.length)} of ${counted(answer.total, "row")}` : "Rows", [
    ["Table", "name", (row) => row.table],
    ["Id", "name", (row) => row.id],
    ["Other columns", "name", (row) => row.data],
  ], "No rows.").show(answer.rows);
}

function showPreview(answer) {
  const known = (number, format) => number === undefined ? "not counted" : format(number);
  const shown = answer.buckets.slice(0, 200);
  const rows = answer.tables.reduce((sum, table) => sum + table.rows, 0);
  const buckets = make("table", { id: "user-buckets" });
  const tables = make("table", { id: "user-tables" });
  const facts = make("dl", { class: "facts" });
  showFacts(facts, [
    ["Buckets", count(answer.buckets.length)],
    ["Operations", count(answer.operations)],
    ["Rows", answer.isCounted ? count(rows) : "too many to count"],
    ["Size of the rows", answer.isCounted
      ? bytes(answer.tables.reduce((sum, table) => sum + table.bytes, 0)) : "not counted"],
    ["Checkpoint", answer.checkpoint],
  ]);
  const errors = make("ul", { class: "findings" });
  showFindings(errors, answer.errors.map((message) => ({ level: "fatal", message })));
  $("user-result").replaceChildren(facts, errors,
    make("div", { class: "columns" }, make("div", {}, tables), make("div", {}, buckets)));
  new Table(tables, "Tables on the client", [
    ["Table", "name", (table) => table.name],
    ["Rows", "number", (table) => count(table.rows)],
    ["Size", "number", (table) => bytes(table.bytes)],
  ], answer.isCounted ? "No rows." : "Too many rows to count.").show(answer.tables);
  new Table(buckets, shown.length < answer.buckets.length
    ? `The first ${count(shown.length)} of ${counted(answer.buckets.length, "bucket")}` : "Buckets", [
    ["Bucket", "name", (bucket) => bucket.name],
    ["Stream", undefined, (bucket) => bucket.stream],
    ["Priority", "number", (bucket) => bucket.priority],
    ["Operations", "number", (bucket) => count(bucket.operations)],
    ["Rows", "number", (bucket) => known(bucket.rows, count)],
    ["Size", "number", (bucket) => known(bucket.bytes, bytes)],
  ], "No buckets.").show(shown);
}

$("user-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  setText($("user-error"), "");
  try {
    showPreview(await preview());
    const rows = await previewRows();
    if (rows) showRows(rows);
  } catch (error) {
    if (error.status === 401) signOut();
    if (!$("user-result").children.length || !$("user-token").value) $("user-result").replaceChildren();
    setText($("user-error"), error.message);
  }
});
